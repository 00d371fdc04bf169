//! The functions of a component that the host calls, looked up once in each instance.

use std::sync::Arc;

use host_model::contract::Fault;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc};

use crate::check::Interfaces;
use crate::contract::abi::{
    About, Bytes, EnvelopeOut, LocalEventIn, LocalEventOut, PropertyOut, ReceivedIn, RequestIn, ResponseOut, RoleOut,
    SpanOut, Text,
};
use crate::contract::error::LoadError;
use crate::contract::table::{contract, name_in_interface};
use crate::store::context::Context;

/// The reason why no instance was made.
pub(crate) enum StartError {
    /// The guest's fault.
    Fault(Fault),
    /// A failure of the host.
    Host(String),
    /// An export of a wrong type.
    WrongType { export: String, detail: String },
}

impl From<StartError> for LoadError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Fault(fault) => Self::Start { fault },
            StartError::Host(detail) => Self::Host { detail },
            StartError::WrongType { export, detail } => Self::WrongType { export, detail },
        }
    }
}

/// Functions that an instance exports.
pub(crate) trait Exports: Sized {
    /// Looks up the functions.
    fn look_up(store: &mut Store<Context>, instance: &Instance, names: &Interfaces) -> Result<Self, StartError>;
}

/// A function of the contract in one instance.
pub(crate) struct Function<P, R> {
    /// Its name in messages.
    pub name: &'static str,
    pub typed: TypedFunc<P, (R,)>,
}

impl<P, R> Clone for Function<P, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, R> Copy for Function<P, R> {}

type Views = Arc<Vec<Option<Vec<u8>>>>;

/// Makes the functions of an instance from the table of the contract.
macro_rules! functions {
    (
        plugin { $($required:ident: $Required:ident $required_functions:tt)* }
        optional { $($optional:ident: $Optional:ident $optional_functions:tt)* }
        spec { $($outside:ident: $Outside:ident $outside_functions:tt)* }
    ) => {
        $(functions!(@interface $required: $Required $required_functions);)*
        $(functions!(@interface $optional: $Optional $optional_functions);)*
        $(functions!(@interface $outside: $Outside $outside_functions);)*

        /// The functions of a plugin, by their interfaces.
        pub(crate) struct Functions {
            $(pub $required: $Required,)*
            $(pub $optional: Option<$Optional>,)*
        }

        impl Exports for Functions {
            fn look_up(store: &mut Store<Context>, instance: &Instance, names: &Interfaces) -> Result<Self, StartError> {
                Ok(Self {
                    $($required: $Required::look_up(store, instance, names)?,)*
                    $($optional: names.$optional.is_some().then(|| $Optional::look_up(store, instance, names)).transpose()?,)*
                })
            }
        }
    };
    (@interface $interface:ident: $Interface:ident {
        $($field:ident: $function:literal $parameters:tt -> $result:ty;)*
    }) => {
        /// The functions of an interface of this name.
        pub(crate) struct $Interface { $(pub $field: Function<$parameters, $result>,)* }

        impl Exports for $Interface {
            fn look_up(store: &mut Store<Context>, instance: &Instance, names: &Interfaces) -> Result<Self, StartError> {
                // The name of an export is the interface with a version of its own.
                let interface = names.$interface.as_deref().unwrap_or(stringify!($interface));
                Ok(Self { $($field: function(store, instance, interface, $function)?,)* })
            }
        }
    };
}
contract!(functions);

/// Looks up a function of the contract, by its name in messages.
fn function<P, R>(
    store: &mut Store<Context>,
    instance: &Instance,
    interface: &str,
    name: &'static str,
) -> Result<Function<P, R>, StartError>
where
    P: ComponentNamedList + Lower,
    (R,): ComponentNamedList + Lift,
{
    typed(store, instance, Some(interface), name_in_interface(name)).map(|typed| Function { name, typed })
}

/// Looks up a function, in an interface or outside of them.
pub(crate) fn typed<P, R>(
    store: &mut Store<Context>,
    instance: &Instance,
    interface: Option<&str>,
    function: &str,
) -> Result<TypedFunc<P, R>, StartError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    let wrong = |detail: String| {
        let export = interface.map_or(function.to_owned(), |interface| format!("{interface}#{function}"));
        StartError::WrongType { export, detail }
    };
    let parent = match interface {
        Some(name) => Some(
            instance
                .get_export_index(&mut *store, None, name)
                .ok_or_else(|| wrong("its interface is missing".into()))?,
        ),
        None => None,
    };
    let index = instance
        .get_export_index(&mut *store, parent.as_ref(), function)
        .ok_or_else(|| wrong("it is missing".into()))?;
    instance.get_typed_func(&mut *store, index).map_err(|error| wrong(error.root_cause().to_string()))
}
