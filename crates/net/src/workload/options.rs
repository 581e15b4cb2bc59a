//! The shape of all workload options: every field has a default.

/// Declares a struct of options with a default for each, readable from and writable to a scenario.
macro_rules! options {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        #[schemars(transform = crate::schema::keep_comment)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }
        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)* }
            }
        }
    };
}
pub(super) use options;
