"""What the settings of a mail account mean for its provider."""

from __future__ import annotations

from monitor.channels.email.oauth import Grant
from monitor.config.channel_settings import OAuthSettings, SmtpSettings

_TOKEN_URLS = {
    "microsoft": "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
    "google": "https://oauth2.googleapis.com/token",
}
_OWN_PERMISSION = "https://outlook.office365.com/.default"
_SCOPES = {
    "microsoft": "https://outlook.office.com/SMTP.Send offline_access",
    "google": "https://mail.google.com/",
}


def grant_of(smtp: SmtpSettings, oauth: OAuthSettings) -> Grant:
    """Return where tokens are asked for, and with what.

    A client secret without a refresh token is a permission of the program's own; only at Google
    a client always has a secret.
    """
    own = bool(oauth.client_secret) and not oauth.refresh_token and oauth.provider != "google"
    usual = _SCOPES.get(oauth.provider, "")
    if own and oauth.provider == "microsoft":
        usual = _OWN_PERMISSION
    url = oauth.token_url or _TOKEN_URLS[oauth.provider].format(tenant=oauth.tenant)
    return Grant(
        provider=oauth.provider,
        token_url=url,
        client_id=oauth.client_id,
        scope=oauth.scope or usual,
        mailbox=smtp.username or "",
        client_secret=oauth.client_secret.reveal() if oauth.client_secret else "",
        refresh_token=oauth.refresh_token.reveal() if oauth.refresh_token else "",
        key_file=oauth.key_file,
        own_permission=own,
    )
