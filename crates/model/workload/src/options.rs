//! The options of workloads: every field has a default.

/// Declares a struct of options with a default for each, readable from and writable to a scenario.
macro_rules! options {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        #[schemars(transform = slotline_base::schema::keep_comment)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Number, on each sending host, of the virtual machine that sends. All data from one machine to
            /// another is one V2V flow for XCo.
            #[serde(skip_serializing_if = "crate::options::is_first")]
            pub vm: u16,
            /// Number, on each receiving host, of the virtual machine that receives.
            #[serde(skip_serializing_if = "crate::options::is_first")]
            pub to_vm: u16,
        }
        impl crate::options::OnMachines for $name {
            fn machines(&self) -> crate::Machines {
                crate::Machines { from: self.vm, to: self.to_vm }
            }
        }
        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* vm: 0, to_vm: 0 }
            }
        }
    };
}
pub(super) use options;

/// Options of a workload, all of whose flows are between machines of these numbers.
pub(super) trait OnMachines {
    fn machines(&self) -> super::Machines;
}

/// Whether a virtual machine is the default one of each host.
pub(super) fn is_first(vm: &u16) -> bool {
    *vm == 0
}
