//! Images: listed, looked up, removed.

use super::scene::{Scene, eventually};
use super::{Difference, Fixture, TestImage};
use crate::v1::{
    Image, ImageFilter, ImageFsInfoRequest, ImageSpec, ImageStatusRequest, ListImagesRequest, RemoveImageRequest,
};

async fn image(scene: &Scene, spec: ImageSpec) -> Option<Image> {
    let request = ImageStatusRequest { image: Some(spec), verbose: false };
    scene.images().image_status(request).await.unwrap().into_inner().image
}

/// Waits for the images of the suite: a runtime may learn of an import a moment later.
pub async fn all_are_there(fixture: &dyn Fixture) {
    let wanted = TestImage::ALL.map(|image| fixture.image(image));
    eventually("all images of the suite", async || {
        // A runtime that cannot list them fails in its cases.
        let Ok(answer) = fixture.client().images().list_images(ListImagesRequest::default()).await else {
            return Some(());
        };
        let known = answer.into_inner().images;
        let is_known = |name: &String| known.iter().any(|image| image.repo_tags.contains(name));
        wanted.iter().all(is_known).then_some(())
    })
    .await;
}

async fn listed(scene: &Scene, filter: Option<ImageFilter>) -> Vec<Image> {
    scene.images().list_images(ListImagesRequest { filter }).await.unwrap().into_inner().images
}

pub async fn an_image_is_known_by_its_name_and_by_its_id(scene: Scene) {
    let spec = scene.image(TestImage::Settings);
    let found = image(&scene, spec.clone()).await.expect("the image");
    assert!(found.repo_tags.contains(&spec.image), "{found:?}");
    assert!(found.size > 0 && !found.id.is_empty(), "{found:?}");
    assert_eq!((found.username.as_str(), found.uid), ("mary", None));
    let by_id = image(&scene, ImageSpec { image: found.id.clone(), ..Default::default() }).await.expect("the image");
    assert_eq!(by_id.id, found.id);
}

pub async fn images_are_listed_all_or_by_name(scene: Scene) {
    let names: Vec<String> = listed(&scene, None).await.into_iter().flat_map(|image| image.repo_tags).collect();
    for wanted in [TestImage::Plain, TestImage::Quit, TestImage::Realtime] {
        assert!(names.contains(&scene.image(wanted).image), "{names:?}");
    }
    let filter = |image| Some(ImageFilter { image: Some(image) });
    let one = listed(&scene, filter(scene.image(TestImage::Quit))).await;
    let none = ImageSpec { image: "localhost/contract/none:1".into(), ..Default::default() };
    let none = listed(&scene, filter(none)).await;
    match scene.differs(Difference::ImageFilterIgnored) {
        true => assert!(one.len() > 1 && none.len() > 1, "{one:?} {none:?}"),
        false => assert!(one.len() == 1 && none.is_empty(), "{one:?} {none:?}"),
    }
}

pub async fn an_image_that_is_missing_has_no_status_and_can_be_removed(scene: Scene) {
    let none = ImageSpec { image: "localhost/contract/none:1".into(), ..Default::default() };
    assert_eq!(image(&scene, none.clone()).await, None);
    scene.images().remove_image(RemoveImageRequest { image: Some(none) }).await.unwrap();
}

pub async fn a_removed_image_is_gone(scene: Scene) {
    let spare = scene.image(TestImage::Spare);
    let request = RemoveImageRequest { image: Some(spare.clone()) };
    assert!(image(&scene, spare.clone()).await.is_some());
    scene.images().remove_image(request.clone()).await.unwrap();
    assert_eq!(image(&scene, spare).await, None);
    scene.images().remove_image(request).await.unwrap();
    // Others that share its layer are still there.
    assert!(image(&scene, scene.image(TestImage::Plain)).await.is_some());
}

pub async fn the_use_of_the_disk_is_told(scene: Scene) {
    let info = scene.images().image_fs_info(ImageFsInfoRequest {}).await.unwrap().into_inner();
    let place = info.image_filesystems.first().and_then(|usage| usage.fs_id.clone()).expect("a file system");
    assert!(place.mountpoint.starts_with('/'), "{place:?}");
}
