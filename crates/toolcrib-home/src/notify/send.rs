//! One message by one channel: [`send`].

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderName, HeaderValue, Method, header};
use jiff::Timestamp;
use serde_json::json;
use sha2::Sha256;
use toolcrib_tools::mail::{self, Mail, MailServer};
use url::Url;
use uuid::Uuid;

use super::notice::Notice;
use super::settings::{Channel, ChannelKind};
use crate::egress::{Egress, Reach, Request, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::secret::{Secret, SecretName};
use crate::model::text;
use crate::secret::SecretStore;

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(20);
/// How long `notify-send` may take, and how often it is looked whether it has ended.
const ON_DESKTOP: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(20);
/// How much of an answer is read.
const MAX_ANSWER: u64 = 64 * 1024;
/// How long a text may be: ntfy takes 4,096 bytes, Telegram as many characters, Slack ten times that.
const MAX_NTFY: usize = 1200;
const MAX_TELEGRAM: usize = 3800;
const MAX_SLACK: usize = 12_000;
const MAX_MAIL: usize = 20_000;
const MAX_DESKTOP: usize = 600;

/// Sends a message by a channel, once.
pub async fn send(
    channel: &Channel,
    notice: &Notice,
    egress: &Egress,
    secrets: &SecretStore,
) -> Result<(), ToolError> {
    let sending = Sending {
        notice,
        egress,
        secrets,
    };
    match tokio::time::timeout(ATTEMPT, sending.by(&channel.kind)).await {
        Ok(sent) => sent,
        Err(_) => {
            let message = format!("no answer within {} s", ATTEMPT.as_secs());
            Err(ToolError::new(ErrorCode::Timeout, message))
        }
    }
}

struct Sending<'a> {
    notice: &'a Notice,
    egress: &'a Egress,
    secrets: &'a SecretStore,
}

impl Sending<'_> {
    async fn by(&self, kind: &ChannelKind) -> Result<(), ToolError> {
        match kind {
            ChannelKind::Webhook {
                url,
                target,
                secret,
            } => self.webhook(url, target, secret).await,
            ChannelKind::Ntfy {
                url,
                target,
                topic,
                secret,
            } => self.ntfy(url, target, topic, secret.as_ref()).await,
            ChannelKind::Slack { target, secret } => self.slack(target, secret).await,
            ChannelKind::Telegram {
                url,
                target,
                secret,
                chat,
            } => self.telegram(url, target, secret, chat).await,
            ChannelKind::Smtp {
                target,
                is_encrypted,
                login,
                from,
                to,
            } => {
                let login = login.as_ref().map(|(user, secret)| {
                    Ok::<_, ToolError>((user.clone(), self.reveal(secret, target)?))
                });
                let server = MailServer {
                    target: target.clone(),
                    is_encrypted: *is_encrypted,
                    login: login.transpose()?,
                };
                let id = Uuid::now_v7().to_string();
                let mail = Mail {
                    from,
                    to,
                    subject: &format!("Toolcrib: {}", self.notice.title),
                    text: &self.notice.text(MAX_MAIL),
                    id: &id,
                    date: Timestamp::now(),
                };
                mail::send(self.egress, &server, &mail).await
            }
            ChannelKind::Desktop => self.desktop().await,
        }
    }

    /// As Standard Webhooks has it: the id, the time and the body are signed together.
    async fn webhook(
        &self,
        url: &Url,
        target: &Target,
        secret: &SecretName,
    ) -> Result<(), ToolError> {
        let key = self.reveal(secret, target)?;
        let mut body = json!(self.notice);
        body["type"] = "approvals.pending".into();
        let body = body.to_string();
        let id = format!("msg_{}", Uuid::now_v7().simple());
        let time = Timestamp::now().as_second();
        let signature = signature(&key, &id, time, &body);
        let headers = [
            ("webhook-id", id),
            ("webhook-timestamp", time.to_string()),
            ("webhook-signature", signature),
        ];
        self.post(url.clone(), target, body, &headers).await
    }

    async fn ntfy(
        &self,
        url: &Url,
        target: &Target,
        topic: &str,
        secret: Option<&SecretName>,
    ) -> Result<(), ToolError> {
        let mut body = json!({
            "topic": topic,
            "title": format!("Toolcrib: {}", self.notice.title),
            "message": self.notice.text(MAX_NTFY),
            "priority": 4,
            "tags": ["lock"],
        });
        if let Some(link) = &self.notice.link {
            body["click"] = link.as_str().into();
        }
        let mut headers = Vec::new();
        if let Some(secret) = secret {
            let token = self.reveal(secret, target)?;
            headers.push(("authorization", format!("Bearer {}", token.expose())));
        }
        self.post(url.clone(), target, body.to_string(), &headers)
            .await
    }

    async fn slack(&self, target: &Target, secret: &SecretName) -> Result<(), ToolError> {
        let address = self.reveal(secret, target)?;
        let read = Target::parse(address.expose()).ok();
        let Some((url, _)) = read.filter(|(_, own)| own == target) else {
            let message =
                format!("the secret `{secret}` is not the address of a webhook at `{target}`");
            return Err(ToolError::new(ErrorCode::Usage, message));
        };
        // `&`, `<` and `>` would be links and mentions.
        let plain = |text: String| {
            text.replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
        };
        let text = plain(format!(
            "{}\n{}",
            self.notice.title,
            self.notice.text(MAX_SLACK)
        ));
        let body = json!({"text": text, "unfurl_links": false});
        self.post(url, target, body.to_string(), &[]).await
    }

    async fn telegram(
        &self,
        url: &Url,
        target: &Target,
        secret: &SecretName,
        chat: &str,
    ) -> Result<(), ToolError> {
        let token = self.reveal(secret, target)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        if !token.expose().chars().all(is_plain) {
            let message = format!("the secret `{secret}` is not the token of a bot");
            return Err(ToolError::new(ErrorCode::Usage, message));
        }
        let mut url = url.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{path}/bot{}/sendMessage", token.expose()));
        let body = json!({
            "chat_id": chat,
            "text": format!("{}\n\n{}", self.notice.title, self.notice.text(MAX_TELEGRAM)),
            "link_preview_options": {"is_disabled": true},
        });
        self.post(url, target, body.to_string(), &[]).await
    }

    async fn desktop(&self) -> Result<(), ToolError> {
        let title = format!("Toolcrib: {}", self.notice.title);
        let text = markup(&self.notice.text(MAX_DESKTOP));
        let showing = tokio::task::spawn_blocking(move || show_on_desktop(&title, &text));
        showing
            .await
            .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?
    }

    fn reveal(&self, name: &SecretName, target: &Target) -> Result<Secret, ToolError> {
        let asker = Slug::parse("notify")
            .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?;
        Ok(self.secrets.reveal(name, &asker, target)?)
    }

    async fn post(
        &self,
        url: Url,
        target: &Target,
        body: String,
        headers: &[(&'static str, String)],
    ) -> Result<(), ToolError> {
        let mut request = Request::get(url);
        request.method = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(header::CONTENT_TYPE, json);
        for (name, value) in headers {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                let message = "a secret has characters that no header can have";
                ToolError::new(ErrorCode::Usage, message)
            })?;
            value.set_sensitive(true);
            request.headers.insert(HeaderName::from_static(name), value);
        }
        request.body = Bytes::from(body);
        // The settings name it, and nothing else.
        request.reach = Reach::Configured(target.clone());
        request.max_redirects = 0;
        request.max_received = MAX_ANSWER;
        request.timeout = ATTEMPT;
        let answer = self.egress.send(request).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&answer.body);
        let said = self.secrets.masker().mask(&said).into_owned();
        let said = text::shorten(&text::visible_line(said.trim()), 200);
        let message = format!(
            "`{target}` answered with status {}: {said}",
            answer.status.as_u16()
        );
        Err(ToolError::new(ErrorCode::UpstreamError, message))
    }
}

/// Standard Webhooks: `v1,` and the base64 of HMAC-SHA256. A key that begins with `whsec_` is base64 behind that.
fn signature(key: &Secret, id: &str, time: i64, body: &str) -> String {
    let coded = key.expose().strip_prefix("whsec_");
    let decoded = coded.and_then(|coded| STANDARD.decode(coded).ok());
    let key = decoded.unwrap_or_else(|| key.expose().as_bytes().to_vec());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
    mac.update(format!("{id}.{time}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Runs `notify-send`, which is done at once or is ended.
fn show_on_desktop(title: &str, text: &str) -> Result<(), ToolError> {
    let failed = |why: String| ToolError::new(ErrorCode::ToolUnavailable, why);
    let mut command = Command::new("notify-send");
    command
        .args([
            "--app-name=Toolcrib",
            "--urgency=critical",
            "--",
            title,
            text,
        ])
        .env_remove("TOOLCRIB_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("cannot start `notify-send`: {error}")))?;
    let until = Instant::now() + ON_DESKTOP;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(format!("`notify-send` failed: {status}"))),
            Ok(None) if Instant::now() < until => std::thread::sleep(GLANCE),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed("`notify-send` did not end".to_owned()));
            }
        }
    }
}

/// Bodies of desktop notifications may be marked up.
fn markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Whether another attempt may go better.
pub(super) fn may_pass(error: &ToolError) -> bool {
    let status = |wanted: &str| error.message().contains(wanted);
    match error.code() {
        ErrorCode::NetworkError | ErrorCode::Timeout => true,
        ErrorCode::UpstreamError => status("status 5") || status("status 429"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        // The example of the specification.
        let key = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let body = r#"{"test": 2432232314}"#;
        assert_eq!(
            signature(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
