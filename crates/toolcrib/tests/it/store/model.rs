//! Two stores on one directory against a map in memory: whatever either of the two does, both agree with the map, and each look reports
//! exactly the changes since its last report.

use proptest::prelude::*;
use serde_json::Value;
use toolcrib::store::{BundleDraft, Install, Look, Put, Store, ToolKey};
use toolcrib::{BundleId, ErrorCode, ToolError, ToolManifest};

use super::bin::Clock;
use super::ground::Home;
use super::map::{Expected, Model, bundle_of, modified, name_of};
use super::view::View;
use super::{bundle_id, key, manifest, scale, slug, tool_id};

/// The operation. Numbers choose from a few bundles, slugs, versions and ids, so that things meet.
#[derive(Debug, Clone)]
enum Step {
    PutBundle {
        bundle: u64,
        slug: usize,
        text: u8,
        on: bool,
    },
    SwitchBundle {
        bundle: u64,
        on: bool,
    },
    DeleteBundle {
        bundle: u64,
    },
    RestoreBundle {
        bundle: u64,
    },
    PutTool {
        tool: Which,
        id: u64,
        text: u8,
    },
    ReplaceTool {
        tool: Which,
        id: u64,
        text: u8,
        is_stale: bool,
    },
    SwitchTool {
        tool: Which,
        on: bool,
    },
    DeleteTool {
        tool: Which,
    },
    Install {
        bundle: u64,
        slug: usize,
        tools: Vec<(usize, usize)>,
        how: How,
    },
    Reap,
    Wait {
        hours: i64,
    },
    Look {
        thorough: bool,
    },
}

#[derive(Debug, Clone, Copy)]
enum How {
    New,
    Update,
}

/// A tool, by numbers.
#[derive(Debug, Clone, Copy)]
struct Which {
    bundle: u64,
    slug: usize,
    version: usize,
}

impl Which {
    fn key(self) -> ToolKey {
        key(
            bundle_id(self.bundle),
            ["x", "X", "天気"][self.slug],
            ["v1", "v2"][self.version],
        )
    }
}

const BUNDLE_SLUGS: [&str; 4] = ["a", "A", "b", "core"];

fn which() -> impl Strategy<Value = Which> {
    (1..5_u64, 0..3_usize, 0..2_usize).prop_map(|(bundle, slug, version)| Which {
        bundle,
        slug,
        version,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let bundle = || 1..5_u64;
    prop_oneof![
        // `core` seldom.
        5 => (bundle(), 0..13_usize, 0..2_u8, prop::bool::weighted(0.8))
            .prop_map(|(bundle, slug, text, on)| Step::PutBundle { bundle, slug: slug / 4, text, on }),
        2 => (bundle(), any::<bool>()).prop_map(|(bundle, on)| Step::SwitchBundle { bundle, on }),
        2 => bundle().prop_map(|bundle| Step::DeleteBundle { bundle }),
        2 => bundle().prop_map(|bundle| Step::RestoreBundle { bundle }),
        8 => (which(), 1..9_u64, 0..3_u8).prop_map(|(tool, id, text)| Step::PutTool { tool, id, text }),
        3 => (which(), 1..9_u64, 0..3_u8, prop::bool::weighted(0.2))
            .prop_map(|(tool, id, text, is_stale)| Step::ReplaceTool { tool, id, text, is_stale }),
        2 => (which(), any::<bool>()).prop_map(|(tool, on)| Step::SwitchTool { tool, on }),
        2 => which().prop_map(|tool| Step::DeleteTool { tool }),
        2 => (bundle(), 0..3_usize, prop::collection::btree_set((0..3_usize, 0..2_usize), 0..4), any::<bool>())
            .prop_map(|(bundle, slug, tools, is_new)| Step::Install {
                bundle, slug, tools: tools.into_iter().collect(), how: if is_new { How::New } else { How::Update },
            }),
        1 => Just(Step::Reap),
        1 => (-30..60_i64).prop_map(|hours| Step::Wait { hours }),
        2 => any::<bool>().prop_map(|thorough| Step::Look { thorough }),
    ]
}

/// A store, and what it has told so far.
struct Reader {
    store: Store,
    told: View,
}

impl Reader {
    /// Looks, and applies the reported changes.
    fn look(&mut self, look: Look) {
        let changes = self.store.changes(look).unwrap();
        for (id, bundle) in changes.bundles {
            match bundle {
                Some(bundle) => {
                    let bundle = serde_json::to_value(&bundle.bundle).unwrap();
                    self.told.bundles.insert(id.to_string(), bundle)
                }
                None => self.told.bundles.remove(&id.to_string()),
            };
        }
        for (key, tool) in changes.tools {
            match tool {
                Some(tool) => {
                    assert_eq!(tool.key, key);
                    let tool: Value = serde_json::from_slice(&tool.bytes).unwrap();
                    self.told.tools.insert(name_of(&key), tool)
                }
                None => self.told.tools.remove(&name_of(&key)),
            };
        }
        assert!(!changes.damage);
    }
}

struct Trial {
    home: Home,
    clock: Clock,
    model: Model,
    readers: [Reader; 2],
    next_id: u64,
}

impl Trial {
    fn new() -> Self {
        let home = Home::empty();
        let clock = Clock::new();
        let reader = || Reader {
            store: Store::at(&home.path, clock.options()),
            told: View::default(),
        };
        let readers = [reader(), reader()];
        Trial {
            home,
            clock,
            model: Model::default(),
            readers,
            next_id: 1000,
        }
    }

    /// Does a step, and checks that the answer is the expected one.
    fn step(&mut self, by: usize, step: &Step) {
        self.clock.jump(1);
        let (said, expected) = self.both(by, step);
        let said = said.map_err(|error| error.code());
        assert_eq!(said, expected, "{step:?} by {by}");
        if expected.is_err() {
            // Some refusals need no look.
            self.readers[by].look(Look::Glance);
        }
        let expected = self.model.view();
        assert_eq!(
            View::of(&self.readers[by].store),
            expected,
            "{step:?} to {by}, who did it"
        );
    }

    fn both(&mut self, by: usize, step: &Step) -> (Result<(), ToolError>, Expected) {
        let store = self.readers[by].store.clone();
        let (model, clock) = (&mut self.model, &self.clock);
        match step.clone() {
            Step::PutBundle {
                bundle,
                slug: name,
                text,
                on,
            } => {
                let draft = BundleDraft {
                    slug: slug(BUNDLE_SLUGS[name]),
                    display_name: String::from("A bundle"),
                    description: format!("text {text}"),
                    is_enabled: on,
                };
                let expected = model.put_bundle(bundle_id(bundle), &draft, clock);
                let said = store
                    .put_bundle(bundle_id(bundle), draft)
                    .map_err(ToolError::from);
                if let (Ok(put), Ok(is_new)) = (&said, &expected) {
                    assert_eq!(matches!(put, Put::Created(_)), *is_new);
                    let (Put::Created(bundle) | Put::Replaced(bundle)) = put;
                    assert_eq!(Some(bundle), model.bundles.get(&bundle.bundle_id));
                }
                (said.map(drop), expected.map(drop))
            }
            Step::SwitchBundle { bundle, on } => {
                let expected = model.bundle(bundle_id(bundle)).and_then(|bundle| {
                    if bundle.soft_deleted_at.is_some() {
                        return Err(ErrorCode::Conflict);
                    }
                    bundle.is_enabled = on;
                    Ok(())
                });
                let said = store.set_bundle_enabled(bundle_id(bundle), on);
                (said.map(drop).map_err(ToolError::from), expected)
            }
            Step::DeleteBundle { bundle } => {
                let expected = model.bundle(bundle_id(bundle)).map(|bundle| {
                    bundle.soft_deleted_at.get_or_insert_with(|| clock.now());
                });
                let said = store.delete_bundle(bundle_id(bundle));
                (said.map(drop).map_err(ToolError::from), expected)
            }
            Step::RestoreBundle { bundle } => {
                let id = bundle_id(bundle);
                let name = model.bundles.get(&id).map(|bundle| bundle.slug.to_string());
                let is_taken = name.is_some_and(|name| model.holder_of(&name, id));
                let expected = model.bundle(id).and_then(|bundle| {
                    if bundle.soft_deleted_at.is_none() || is_taken {
                        return Err(ErrorCode::Conflict);
                    }
                    bundle.soft_deleted_at = None;
                    Ok(())
                });
                let said = store.restore_bundle(id);
                (said.map(drop).map_err(ToolError::from), expected)
            }
            Step::PutTool { tool, id, text } => {
                let key = tool.key();
                let mut new = manifest(&key, tool_id(id), &format!("text {text}"));
                let said = store.put_tool(new.clone()).map_err(ToolError::from);
                let expected = model.writable(key.bundle).and_then(|()| {
                    if model.tools.contains_key(&key) {
                        return Err(ErrorCode::Conflict);
                    }
                    (new.created_at, new.modified_at) = (clock.now(), clock.now());
                    if model
                        .tools
                        .values()
                        .any(|other| other.tool_id == new.tool_id)
                    {
                        // It gets another one; `View` sees to it that it is no one else's.
                        new.tool_id = said.as_ref().map_or(new.tool_id, |tool| tool.head.tool_id);
                    }
                    model.tools.insert(key, new);
                    Ok(())
                });
                (said.map(drop), expected)
            }
            Step::ReplaceTool {
                tool,
                id,
                text,
                is_stale,
            } => {
                let key = tool.key();
                let mut new = manifest(&key, tool_id(id), &format!("text {text}"));
                self.readers[by].look(Look::Glance);
                let found = store.tool(&key).map(|found| found.digest());
                let digest = match is_stale {
                    true => "0".repeat(64),
                    false => found.unwrap_or_default(),
                };
                let said = store
                    .replace_tool(new.clone(), &digest)
                    .map_err(ToolError::from);
                let is_writable = model.writable(key.bundle);
                let expected = is_writable.and_then(|()| model.tool(&key)).and_then(|old| {
                    if is_stale {
                        return Err(ErrorCode::Conflict);
                    }
                    (new.created_at, new.tool_id) = (old.created_at, old.tool_id);
                    new.modified_at = modified(&new, old, clock);
                    *old = new;
                    Ok(())
                });
                (said.map(drop), expected)
            }
            Step::SwitchTool { tool, on } => {
                let key = tool.key();
                let is_writable = model.writable(key.bundle);
                let expected = is_writable.and_then(|()| model.tool(&key));
                let expected = expected.map(|tool| tool.is_enabled = on);
                let said = store.set_tool_enabled(&key, on);
                (said.map(drop).map_err(ToolError::from), expected)
            }
            Step::DeleteTool { tool } => {
                let key = tool.key();
                let expected = model.tool(&key).map(drop);
                model.tools.remove(&key);
                (store.delete_tool(&key).map_err(ToolError::from), expected)
            }
            Step::Install {
                bundle,
                slug: name,
                tools,
                how,
            } => {
                let id = bundle_id(bundle);
                let draft = BundleDraft {
                    slug: slug(BUNDLE_SLUGS[name]),
                    display_name: String::from("Installed"),
                    description: String::new(),
                    is_enabled: false,
                };
                let new = bundle_of(id, &draft, clock);
                let tools: Vec<ToolManifest> = tools
                    .into_iter()
                    .map(|(slug, version)| {
                        self.next_id += 1;
                        let key = Which {
                            bundle,
                            slug,
                            version,
                        }
                        .key();
                        manifest(&key, tool_id(self.next_id), "installed")
                    })
                    .collect();
                let (how, is_new) = match how {
                    How::New => (Install::New, true),
                    How::Update => (Install::Update, false),
                };
                let said = store
                    .install(new.clone(), tools.clone(), how)
                    .map_err(ToolError::from);
                let expected = model.install(new, tools, is_new, clock);
                (said.map(drop), expected)
            }
            Step::Reap => {
                let mut gone: Vec<BundleId> = model
                    .bundles
                    .values()
                    .filter_map(|bundle| {
                        let since = clock.now().duration_since(bundle.soft_deleted_at?);
                        let is_empty = model.tools.keys().all(|key| key.bundle != bundle.bundle_id);
                        (is_empty && since.as_secs() >= 2 * Clock::DAY).then_some(bundle.bundle_id)
                    })
                    .collect();
                model.bundles.retain(|id, _| !gone.contains(id));
                let said = store.reap().map(|mut reaped| {
                    reaped.sort();
                    gone.sort();
                    assert_eq!(reaped, gone);
                });
                (said.map_err(ToolError::from), Ok(()))
            }
            Step::Wait { hours } => {
                clock.jump(hours * 3600);
                // What the other did is seen at the next look, and a step that does nothing is a look.
                self.readers[by].look(Look::Glance);
                (Ok(()), Ok(()))
            }
            Step::Look { thorough } => {
                let look = if thorough {
                    Look::Thorough
                } else {
                    Look::Glance
                };
                self.readers[by].look(look);
                (Ok(()), Ok(()))
            }
        }
    }

    /// Both look, and have received every change; a third one that starts now sees the same.
    fn settle(&mut self) {
        let expected = self.model.view();
        for (number, reader) in self.readers.iter_mut().enumerate() {
            reader.look(Look::Glance);
            assert_eq!(View::of(&reader.store), expected, "to {number}");
            assert_eq!(reader.told, expected, "as told to {number}");
            assert!(reader.store.is_current());
            assert!(reader.store.changes(Look::Glance).unwrap().is_empty());
        }
        assert_eq!(
            View::fresh(&self.home.path),
            expected,
            "to one who starts now"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24 * u32::try_from(scale()).unwrap(), failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default()
    })]

    #[test]
    fn two_stores_on_one_directory_do_and_show_what_a_map_does(steps in prop::collection::vec((0..2_usize, step()), 1..30)) {
        let mut trial = Trial::new();
        for (by, step) in &steps {
            trial.step(*by, step);
        }
        trial.settle();
    }
}
