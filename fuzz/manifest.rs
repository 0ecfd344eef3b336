//! Any bytes as a manifest: refused, or kept as they were through a rewrite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::schema::SchemaPool;
use toolcrib::wire::{DefinitionOptions, Provider, definition};
use toolcrib::{Slug, ToolManifest};

fuzz_target!(|data: &[u8]| {
    let Ok(manifest) = ToolManifest::from_json(data) else { return };
    let written = serde_json::to_vec(&manifest).expect("what was read can be written");
    assert_eq!(ToolManifest::from_json(&written).expect("what was written can be read"), manifest);
    let Ok(spec) = manifest.into_spec(Slug::parse("fuzz").expect("a slug"), &mut SchemaPool::default()) else { return };
    for provider in Provider::ALL {
        for strict in [false, true] {
            let _ = definition(&spec, provider, &DefinitionOptions { strict });
        }
    }
});
