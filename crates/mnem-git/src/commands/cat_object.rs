//! cat-object: one object, as it is stored.

use crate::context::Context;
use crate::error::Failure;
use crate::report::cat_object::CatObject;

/// Print an object of the store, of any kind
///
/// In the diagnostic notation of CBOR (RFC 8949, section 8): what stands in its bytes, in their
/// order. Its id is the BLAKE3 hash of those bytes.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The object's id, or four or more of its first digits
    #[arg(value_name = "ID")]
    object: String,
}

pub fn run(context: &Context, args: &Args) -> Result<CatObject, Failure> {
    let (encoded, object) = context.open()?.find_object(&args.object)?;
    Ok(CatObject::new(&encoded, object)?)
}
