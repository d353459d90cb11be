//! What a container finds around it: variables, directory, user, files, name.

use std::fs;

use super::TestImage;
use super::scene::Scene;
use crate::v1::{Int64Value, KeyValue, Mount, NamespaceMode};

pub async fn a_container_gets_variables_and_its_directory(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = pod.shell("one", "echo \"$GREETING\"; pwd; echo $$; echo $PATH");
    config.envs = vec![KeyValue { key: "GREETING".into(), value: b"good \"day\"".to_vec() }];
    config.working_dir = "/tmp".into();
    assert_eq!(pod.start(config).await.told().await, ["good \"day\"", "/tmp", "1", "/bin"]);
}

pub async fn an_image_has_defaults_that_the_request_replaces(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = pod.shell("defaults", "");
    config.image = Some(scene.image(TestImage::Settings));
    config.command.clear();
    assert_eq!(pod.start(config.clone()).await.told().await, ["image /home 1234:1235"]);
    config.metadata.as_mut().unwrap().name = "arguments".into();
    config.log_path = "arguments.log".into();
    config.args = vec!["echo other $ORIGIN".into()];
    config.envs = vec![KeyValue { key: "ORIGIN".into(), value: b"request".to_vec() }];
    assert_eq!(pod.start(config).await.told().await, ["other request"]);
}

pub async fn a_container_runs_as_the_user_it_was_given(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = pod.shell("numbers", "id -u; id -g; id -G");
    let context = config.linux.as_mut().unwrap().security_context.as_mut().unwrap();
    context.run_as_user = Some(Int64Value { value: 4000 });
    context.run_as_group = Some(Int64Value { value: 5000 });
    context.supplemental_groups = vec![6000];
    assert_eq!(pod.start(config).await.told().await, ["4000", "5000", "5000 6000"]);
    let mut config = pod.shell("name", "id -u; id -g");
    config.linux.as_mut().unwrap().security_context.as_mut().unwrap().run_as_username = "mary".into();
    assert_eq!(pod.start(config).await.told().await, ["1234", "1235"]);
}

pub async fn files_of_the_machine_are_mounted_as_asked(scene: Scene) {
    let pod = scene.pod().await;
    let shared = std::path::Path::new(&pod.config.log_directory).join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("given"), "from outside\n").unwrap();
    let script = "cat /in/given; echo inside > /in/made && echo made; echo x > /ro/made || echo refused";
    let mut config = pod.shell("one", script);
    let host_path = shared.to_str().unwrap().to_owned();
    let mount = |container_path: &str| Mount {
        container_path: container_path.into(),
        host_path: host_path.clone(),
        ..Default::default()
    };
    config.mounts = vec![mount("/in"), Mount { readonly: true, ..mount("/ro") }];
    let container = pod.start(config).await;
    let mut told = container.told().await;
    // What the shell says about the refusal is its own.
    told.retain(|line| ["from outside", "made", "refused"].contains(&line.as_str()));
    assert_eq!(told, ["from outside", "made", "refused"]);
    assert_eq!(fs::read_to_string(shared.join("made")).unwrap(), "inside\n");
    let mounts = container.status().await.mounts;
    let read_only = |path: &str| mounts.iter().find(|mount| mount.container_path == path).map(|mount| mount.readonly);
    assert_eq!((read_only("/in"), read_only("/ro")), (Some(false), Some(true)));
}

pub async fn a_root_file_system_is_writable_unless_it_is_asked_not_to_be(scene: Scene) {
    let pod = scene.pod().await;
    let script = "(echo x > /file) 2>/dev/null && echo written || echo refused";
    assert_eq!(pod.start(pod.shell("writable", script)).await.told().await, ["written"]);
    // A container of the same image does not see what another wrote.
    let look = "[ -e /file ] && echo there || echo absent";
    assert_eq!(pod.start(pod.shell("other", look)).await.told().await, ["absent"]);
    let mut config = pod.shell("readonly", script);
    config.linux.as_mut().unwrap().security_context.as_mut().unwrap().readonly_rootfs = true;
    assert_eq!(pod.start(config).await.told().await, ["refused"]);
}

pub async fn a_sandbox_gives_its_containers_its_name_or_that_of_the_machine(scene: Scene) {
    let mut config = scene.pod_config();
    let own = scene.network() == NamespaceMode::Pod;
    if own {
        config.hostname = "contract-host".into();
    }
    let pod = scene.run_pod(config).await.unwrap();
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let expected = if own { "contract-host" } else { machine.trim() };
    assert_eq!(pod.start(pod.shell("one", "hostname")).await.told().await, [expected]);
}
