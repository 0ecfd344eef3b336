//! MCP's content blocks within a budget: texts are cut, pictures and sounds stay or go, everything else is left out when it is too long.

use serde_json::{Value, json};

use super::{cost, text};

/// What a picture or a sound costs, whatever its bytes: models count them in their own way, and about so much.
const PICTURE: u64 = 1600 * cost::TOKEN;
/// What a note in the place of a block costs.
const NOTE: u64 = 40;

/// Whether blocks cost no more than this.
pub(super) fn fit(blocks: &[Value], limit: u64) -> bool {
    let mut cost = 0;
    blocks.iter().all(|block| {
        cost += of_block(block, limit);
        cost <= limit
    })
}

/// Cuts blocks to a budget that they share, the small ones first.
pub(super) fn cut(blocks: &mut Vec<Value>, budget: u64) {
    // So many that notes alone would be too long: the first ones stay.
    let most = usize::try_from(budget / NOTE / 4)
        .unwrap_or(usize::MAX)
        .max(1);
    if blocks.len() > most {
        let more = blocks.len() - most;
        blocks.truncate(most);
        blocks.push(note(&format!("{more} more blocks")));
    }
    let costs: Vec<u64> = blocks.iter().map(|block| of_block(block, budget)).collect();
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|number| costs[*number]);
    let mut left = budget;
    for (done, number) in order.iter().enumerate() {
        let share = left / (blocks.len() - done) as u64;
        let block = &mut blocks[*number];
        if costs[*number] > share {
            shorten(block, share);
        }
        left = left.saturating_sub(of_block(block, left));
    }
}

fn shorten(block: &mut Value, budget: u64) {
    let text = match kind(block) {
        "text" => block.get_mut("text"),
        "resource" => block.pointer_mut("/resource/text"),
        _ => None,
    };
    match text {
        Some(Value::String(text)) => {
            if let Some(cut) = text::cut(text, budget) {
                *text = cut.text;
            }
        }
        Some(_) | None => {
            let what = crate::model::text::shorten(kind(block), 40);
            *block = note(&format!("a block of type `{what}`"));
        }
    }
}

fn note(what: &str) -> Value {
    json!({"type": "text", "text": format!("[left out: {what}]")})
}

fn kind(block: &Value) -> &str {
    block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn of_block(block: &Value, limit: u64) -> u64 {
    let text = match kind(block) {
        "text" => block.get("text"),
        "resource" => block.pointer("/resource/text"),
        "image" | "audio" => return PICTURE,
        _ => None,
    };
    match text {
        Some(Value::String(text)) => cost::of_text(text, limit),
        Some(_) | None => cost::of_value(block, limit),
    }
}
