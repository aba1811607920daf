//! The same while a store is migrated, imported or repaired.
