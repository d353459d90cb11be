//! How strategic merge patches merge the lists and objects of each kind.
//!
//! Only what differs from the rule is listed: objects are merged field by field, lists are replaced whole. Upstream
//! also marks fields `retainKeys`; that concerns those who make patches, since whoever applies one obeys `$retainKeys`
//! wherever it stands.

/// The fields of an object that are not merged by the rule, or lead to such.
#[derive(Debug)]
pub struct Type(&'static [Field]);

/// How one field is merged.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub strategy: Strategy,
    /// The type of the field, or of its elements.
    pub of: &'static Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Objects are merged, lists replaced.
    Default,
    /// Replaced whole.
    Replace,
    /// A list merged by this field of its elements; by the elements themselves if the name is empty.
    Merge(&'static str),
}

impl Type {
    /// How the field of this name is merged.
    pub fn field(&self, name: &str) -> &Field {
        self.0.iter().find(|field| field.name == name).unwrap_or(&UNLISTED)
    }

    /// Every listed field.
    pub fn fields(&self) -> &'static [Field] {
        self.0
    }
}

/// How objects of a built-in kind are merged; none for other kinds, which strategic merge patches do not exist for.
/// The group is empty for the core group.
pub fn of_kind(group: &str, kind: &str) -> Option<&'static Type> {
    let listed = |(g, k, _): &&(&str, &str, &'static Type)| *g == group && *k == kind;
    KINDS.iter().find(listed).map(|(_, _, of)| *of)
}

static UNLISTED: Field = Field { name: "", strategy: Strategy::Default, of: &PLAIN };
static PLAIN: Type = Type(&[]);

const fn object(name: &'static str, of: &'static Type) -> Field {
    Field { name, strategy: Strategy::Default, of }
}

const fn replaced(name: &'static str) -> Field {
    Field { name, strategy: Strategy::Replace, of: &PLAIN }
}

const fn list(name: &'static str, key: &'static str) -> Field {
    Field { name, strategy: Strategy::Merge(key), of: &PLAIN }
}

const fn list_of(name: &'static str, key: &'static str, of: &'static Type) -> Field {
    Field { name, strategy: Strategy::Merge(key), of }
}

/// A list of plain values without repetition.
const fn set(name: &'static str) -> Field {
    Field { name, strategy: Strategy::Merge(""), of: &PLAIN }
}

static KINDS: [(&str, &str, &Type); 62] = [
    ("", "ConfigMap", &METADATA_ONLY),
    ("", "Endpoints", &METADATA_ONLY),
    ("", "Event", &METADATA_ONLY),
    ("", "LimitRange", &METADATA_ONLY),
    ("", "Namespace", &WITH_CONDITIONS),
    ("", "Node", &NODE),
    ("", "PersistentVolume", &METADATA_ONLY),
    ("", "PersistentVolumeClaim", &PERSISTENT_VOLUME_CLAIM),
    ("", "Pod", &POD),
    ("", "PodTemplate", &POD_TEMPLATE),
    ("", "ReplicationController", &WORKLOAD),
    ("", "ResourceQuota", &METADATA_ONLY),
    ("", "Secret", &METADATA_ONLY),
    ("", "Service", &SERVICE),
    ("", "ServiceAccount", &SERVICE_ACCOUNT),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", &MUTATING_POLICY),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", &METADATA_ONLY),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", &WEBHOOKS),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", &VALIDATING_POLICY),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", &METADATA_ONLY),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", &WEBHOOKS),
    ("apps", "ControllerRevision", &METADATA_ONLY),
    ("apps", "DaemonSet", &WORKLOAD),
    ("apps", "Deployment", &WORKLOAD),
    ("apps", "ReplicaSet", &WORKLOAD),
    ("apps", "StatefulSet", &WORKLOAD),
    ("autoscaling", "HorizontalPodAutoscaler", &WITH_CONDITIONS),
    ("autoscaling", "Scale", &METADATA_ONLY),
    ("batch", "CronJob", &CRON_JOB),
    ("batch", "Job", &JOB),
    ("certificates.k8s.io", "CertificateSigningRequest", &METADATA_ONLY),
    ("certificates.k8s.io", "ClusterTrustBundle", &METADATA_ONLY),
    ("certificates.k8s.io", "PodCertificateRequest", &WITH_CONDITIONS),
    ("coordination.k8s.io", "Lease", &METADATA_ONLY),
    ("discovery.k8s.io", "EndpointSlice", &METADATA_ONLY),
    ("events.k8s.io", "Event", &METADATA_ONLY),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", &WITH_CONDITIONS),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", &WITH_CONDITIONS),
    ("networking.k8s.io", "IPAddress", &METADATA_ONLY),
    ("networking.k8s.io", "Ingress", &METADATA_ONLY),
    ("networking.k8s.io", "IngressClass", &METADATA_ONLY),
    ("networking.k8s.io", "NetworkPolicy", &METADATA_ONLY),
    ("networking.k8s.io", "ServiceCIDR", &WITH_CONDITIONS),
    ("node.k8s.io", "RuntimeClass", &METADATA_ONLY),
    ("policy", "PodDisruptionBudget", &POD_DISRUPTION_BUDGET),
    ("rbac.authorization.k8s.io", "ClusterRole", &METADATA_ONLY),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &METADATA_ONLY),
    ("rbac.authorization.k8s.io", "Role", &METADATA_ONLY),
    ("rbac.authorization.k8s.io", "RoleBinding", &METADATA_ONLY),
    ("resource.k8s.io", "DeviceClass", &METADATA_ONLY),
    ("resource.k8s.io", "DeviceTaintRule", &WITH_CONDITIONS),
    ("resource.k8s.io", "ResourceClaim", &RESOURCE_CLAIM),
    ("resource.k8s.io", "ResourceClaimTemplate", &RESOURCE_CLAIM_TEMPLATE),
    ("resource.k8s.io", "ResourceSlice", &METADATA_ONLY),
    ("scheduling.k8s.io", "PriorityClass", &METADATA_ONLY),
    ("storage.k8s.io", "CSIDriver", &METADATA_ONLY),
    ("storage.k8s.io", "CSINode", &CSI_NODE),
    ("storage.k8s.io", "CSIStorageCapacity", &METADATA_ONLY),
    ("storage.k8s.io", "StorageClass", &METADATA_ONLY),
    ("storage.k8s.io", "VolumeAttachment", &METADATA_ONLY),
    ("storage.k8s.io", "VolumeAttributesClass", &METADATA_ONLY),
    ("storagemigration.k8s.io", "StorageVersionMigration", &WITH_CONDITIONS),
];

static OBJECT_META: Type = Type(&[list("ownerReferences", "uid"), set("finalizers")]);

static METADATA_ONLY: Type = Type(&[object("metadata", &OBJECT_META)]);

static CONDITIONS: Type = Type(&[list("conditions", "type")]);

static WITH_CONDITIONS: Type = Type(&[object("metadata", &OBJECT_META), object("status", &CONDITIONS)]);

// --- pods ----------------------------------------------------------------------------------------------------------

static POD: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &POD_SPEC), object("status", &POD_STATUS)]);

static POD_SPEC: Type = Type(&[
    list_of("volumes", "name", &VOLUME),
    list_of("initContainers", "name", &CONTAINER),
    list_of("containers", "name", &CONTAINER),
    list_of("ephemeralContainers", "name", &CONTAINER),
    list("imagePullSecrets", "name"),
    list("hostAliases", "ip"),
    list("topologySpreadConstraints", "topologyKey"),
    list("schedulingGates", "name"),
    list("resourceClaims", "name"),
    list("evictionResponders", "name"),
]);

static CONTAINER: Type = Type(&[
    list("ports", "containerPort"),
    list("env", "name"),
    list("volumeMounts", "mountPath"),
    list("volumeDevices", "devicePath"),
]);

static VOLUME: Type = Type(&[object("ephemeral", &EPHEMERAL_VOLUME)]);

static EPHEMERAL_VOLUME: Type = Type(&[object("volumeClaimTemplate", &METADATA_ONLY)]);

static POD_STATUS: Type = Type(&[
    list("conditions", "type"),
    list("hostIPs", "ip"),
    list("podIPs", "ip"),
    list("resourceClaimStatuses", "name"),
    list_of("nodeAllocatableResourceClaimStatuses", "resourceClaimName", &NODE_ALLOCATABLE_CLAIM),
]);

static NODE_ALLOCATABLE_CLAIM: Type = Type(&[list("mapping", "name"), list("overhead", "name")]);

// --- what makes pods -----------------------------------------------------------------------------------------------

static POD_TEMPLATE: Type = Type(&[object("metadata", &OBJECT_META), object("template", &POD_TEMPLATE_SPEC)]);

static POD_TEMPLATE_SPEC: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &POD_SPEC)]);

/// Everything with a pod template and conditions where most kinds have them.
static WORKLOAD: Type =
    Type(&[object("metadata", &OBJECT_META), object("spec", &WORKLOAD_SPEC), object("status", &CONDITIONS)]);

static WORKLOAD_SPEC: Type = Type(&[object("template", &POD_TEMPLATE_SPEC)]);

static JOB: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &JOB_SPEC), object("status", &CONDITIONS)]);

static JOB_SPEC: Type = Type(&[object("template", &POD_TEMPLATE_SPEC), object("scheduling", &JOB_SCHEDULING)]);

static JOB_SCHEDULING: Type = Type(&[list("resourceClaims", "name")]);

static CRON_JOB: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &CRON_JOB_SPEC)]);

static CRON_JOB_SPEC: Type = Type(&[object("jobTemplate", &JOB_TEMPLATE_SPEC)]);

static JOB_TEMPLATE_SPEC: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &JOB_SPEC)]);

static POD_DISRUPTION_BUDGET: Type = Type(&[
    object("metadata", &OBJECT_META),
    object("spec", &POD_DISRUPTION_BUDGET_SPEC),
    object("status", &CONDITIONS),
]);

static POD_DISRUPTION_BUDGET_SPEC: Type = Type(&[replaced("selector")]);

// --- what pods run on, reach and mount -----------------------------------------------------------------------------

static NODE: Type =
    Type(&[object("metadata", &OBJECT_META), object("spec", &NODE_SPEC), object("status", &NODE_STATUS)]);

static NODE_SPEC: Type = Type(&[set("podCIDRs")]);

static NODE_STATUS: Type = Type(&[list("conditions", "type"), list("addresses", "type")]);

static SERVICE: Type =
    Type(&[object("metadata", &OBJECT_META), object("spec", &SERVICE_SPEC), object("status", &CONDITIONS)]);

static SERVICE_SPEC: Type = Type(&[list("ports", "port")]);

static SERVICE_ACCOUNT: Type = Type(&[object("metadata", &OBJECT_META), list("secrets", "name")]);

static PERSISTENT_VOLUME_CLAIM: Type =
    Type(&[object("metadata", &OBJECT_META), object("status", &PERSISTENT_VOLUME_CLAIM_STATUS)]);

static PERSISTENT_VOLUME_CLAIM_STATUS: Type =
    Type(&[list("conditions", "type"), object("healthStatus", &VOLUME_HEALTH_STATUS)]);

static VOLUME_HEALTH_STATUS: Type = Type(&[list("healthConditions", "status")]);

static CSI_NODE: Type =
    Type(&[object("metadata", &OBJECT_META), object("spec", &CSI_NODE_SPEC), object("status", &CSI_NODE_STATUS)]);

static CSI_NODE_SPEC: Type = Type(&[list("drivers", "name")]);

static CSI_NODE_STATUS: Type = Type(&[list("storageHealth", "name")]);

static RESOURCE_CLAIM: Type = Type(&[object("metadata", &OBJECT_META), object("status", &RESOURCE_CLAIM_STATUS)]);

static RESOURCE_CLAIM_STATUS: Type = Type(&[list("reservedFor", "uid")]);

static RESOURCE_CLAIM_TEMPLATE: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &METADATA_ONLY)]);

// --- what is asked before a change ---------------------------------------------------------------------------------

static WEBHOOKS: Type = Type(&[object("metadata", &OBJECT_META), list_of("webhooks", "name", &WEBHOOK)]);

static WEBHOOK: Type = Type(&[list("matchConditions", "name")]);

static MUTATING_POLICY: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &MUTATING_POLICY_SPEC)]);

static MUTATING_POLICY_SPEC: Type = Type(&[list("matchConditions", "name")]);

static VALIDATING_POLICY: Type = Type(&[object("metadata", &OBJECT_META), object("spec", &VALIDATING_POLICY_SPEC)]);

static VALIDATING_POLICY_SPEC: Type = Type(&[list("matchConditions", "name"), list("variables", "name")]);
