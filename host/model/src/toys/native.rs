//! Parts of machines that tests write by hand.

/// The functions about properties of a machine whose protocol has none.
#[macro_export]
macro_rules! without_properties {
    () => {
        fn view(&mut self, _: u32) -> Result<Option<Vec<u8>>, $crate::contract::Fault> {
            Ok(None)
        }

        fn properties(&mut self) -> Result<Vec<$crate::contract::Property>, $crate::contract::Fault> {
            Ok(Vec::new())
        }

        fn invariant(&mut self, _: u32, _: &[Option<&[u8]>]) -> Result<Result<(), String>, $crate::contract::Fault> {
            Ok(Ok(()))
        }
    };
}

/// The answer of a machine that has these aspects and no others.
#[macro_export]
macro_rules! offers {
    ($($aspect:ident),+) => {
        fn aspect(&mut self, name: $crate::contract::AspectName) -> Option<$crate::contract::Aspect<'_>> {
            match name {
                $($crate::contract::AspectName::$aspect => Some($crate::contract::Aspect::$aspect(self)),)+
                _ => None,
            }
        }
    };
}
