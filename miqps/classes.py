"""Never-touch classes: URLs whose whole query belongs together or is worth a secret.

Log-in hand-overs, signatures over the raw query, one-time links, payments. They are neither probed
nor rewritten. They are told by whole words, never by parts of them, and generously: a URL wrongly
counted keeps a parameter, a missed one breaks a log-in. So a name that often carries a secret
(`token`) counts even where it does not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from urllib.parse import unquote

from miqps import query, urls

OAUTH = "oauth"
SIGNATURE = "signature"
PASSWORD = "password reset"
UNSUBSCRIBE = "unsubscribe"
INVITATION = "invitation"
PAYMENT = "payment"
LOGIN = "log-in token"
CHALLENGE = "challenge"
CLASSES = frozenset(
    {OAUTH, SIGNATURE, PASSWORD, UNSUBSCRIBE, INVITATION, PAYMENT, LOGIN, CHALLENGE}
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _table(rows: dict[str, str]) -> dict[str, str]:
    return {word: label for label, words in rows.items() for word in words.split()}


# Lower case. One of these names is enough.
_NAMES = _table(
    {
        OAUTH: """
        samlrequest samlresponse samlart relaystate sigalg id_token id_token_hint redirect_uri
        code_challenge code_challenge_method code_verifier response_type response_mode
        session_state acr_values wresult wtrealm wctx
        """,
        SIGNATURE: """
        sig sign hmac mac checksum digest awsaccesskeyid googleaccessid ossaccesskeyid
        key-pair-id hdnts hdnea hdntl __gda__ auth_key x-bogus signed sign_type
        """,
        PASSWORD: """
        reset_key resetkey resetcode reset_code pwreset pwdreset uidb64 lostpassword
        """,
        UNSUBSCRIBE: "unsubscribe unsub optout opt_out opt-out list-unsubscribe",
        INVITATION: """
        invite invitation invite_code invitecode invite_id invitation_id invitation_code
        """,
        PAYMENT: """
        payerid paymentid payment_id payment_intent setup_intent redirect_status transaction_id
        transactionid txn_id txnid order_key merchant_reference pspreference
        """,
        LOGIN: """
        auth authkey access_key accesskey apikey api_key magic magic_link magiclink otp otc
        one_time_code onetimecode sso jwt ticket activation_key activation_code activationcode
        verification_code verificationcode confirmation_code oobcode pwd passwd csrf xsrf _csrf
        authkeyhash login_hash loginhash
        """,
        CHALLENGE: """
        g-recaptcha-response h-captcha-response cf-turnstile-response captcha
        """,
    }
)

# The first name counts together with all of the second.
_COMBINATIONS: dict[str, tuple[tuple[frozenset[str], str], ...]] = {
    "code": tuple((frozenset({other}), OAUTH) for other in ("state", "scope", "iss", "client_id")),
    "client_id": tuple((frozenset({other}), OAUTH) for other in ("scope", "state", "nonce")),
    "error": ((frozenset({"state"}), OAUTH),),
    "wa": ((frozenset({"wreply"}), OAUTH),),
    "expires": tuple(
        (frozenset({other}), SIGNATURE) for other in ("hash", "md5", "key", "policy", "h", "s")
    ),
    "ex": ((frozenset({"is", "hm"}), SIGNATURE),),
    "oh": ((frozenset({"oe"}), SIGNATURE),),
    "md5": ((frozenset({"e"}), SIGNATURE),),
    "st": ((frozenset({"e"}), SIGNATURE),),
    "login": ((frozenset({"key"}), PASSWORD),),
    "session_id": ((frozenset({"order_id"}), PAYMENT),),
}
_BEGINNING = re.compile(r"x-(?:amz|goog|oss|cos|ms)-|openid[._]|oauth_|__cf_chl|cf_chl")
_ENDINGS = {
    "token": LOGIN,
    "nonce": LOGIN,
    "password": LOGIN,
    "secret": LOGIN,
    "signature": SIGNATURE,
    "hmac": SIGNATURE,
}
_ENDING = re.compile(rf"(?:{'|'.join(_ENDINGS)})$")

# Path segments, lower case, `_` as `-`, without extension.
_SEGMENTS = _table(
    {
        OAUTH: """
        oauth oauth1 oauth2 openid openid-connect oidc saml saml2 sso authorize adfs cas
        login-callback auth
        """,
        PASSWORD: """
        reset-password password-reset passwordreset resetpassword forgot-password forgotpassword
        lost-password lostpassword set-password recover-password password-recovery
        account-recovery reset
        """,
        UNSUBSCRIBE: "unsubscribe unsub optout opt-out unsubscribe-all email-preferences",
        INVITATION: "invite invites invitation invitations accept-invite accept-invitation",
        PAYMENT: "checkout payment payments pay",
        LOGIN: """
        login log-in signin sign-in logon magic-link magiclink magic-login verify-email
        confirm-email email-verification activate activation
        """,
        CHALLENGE: "cdn-cgi captcha",
    }
)

# `?action=unsubscribe`: these values count behind these names only.
_ACTION_NAMES = _set("""
    action act do op cmd task mode method _method event operation command func function verb
    perform todo page view route
    """)
_ACTION_VALUES = {
    **_SEGMENTS,
    **_table({PASSWORD: "rp resetpass retrievepassword resendpwd", LOGIN: "verifyemail signup"}),
}

_WEB_TOKEN = re.compile(r"(?:^|&)([^=&]*)=eyJ[^&.]*\.[^&.]*\.")
_SEGMENT_WORDS = frozenset(_SEGMENTS)
_MATRIX = re.compile(r";[^/]*")
_EXTENSION = re.compile(r"\.[a-z0-9]{1,6}\Z")


def never_touch(url: str, off: frozenset[str] = frozenset()) -> str | None:
    """Why this URL is in a never-touch class: `signature: 'X-Amz-Date'`; None when it is in none.

    `off` holds classes that do not count.
    """
    text = query.split(url)[1]
    return (
        class_of_names(query.names(url), off)
        or class_of_path(urls.path(url), off)
        or class_of_values(text or "", off)
    )


def class_of_names(names: Collection[str], off: frozenset[str] = frozenset()) -> str | None:
    """The never-touch class that a pattern shows, with its reason."""
    suspects = [name for name in names if _is_suspect(name)]
    if not suspects:
        return None
    lower = {name.lower() for name in names}
    for name in sorted({name.lower() for name in suspects}):
        label = _NAMES.get(name) or _class_by_affix(name)
        if label is not None and label not in off:
            return f"{label}: '{name}'"
        for others, combined in _COMBINATIONS.get(name, ()):
            if others <= lower and combined not in off:
                return f"{combined}: '{name}' with '{sorted(others)[0]}'"
    return None


def class_of_path(path: str, off: frozenset[str] = frozenset()) -> str | None:
    """The never-touch class that a segment of the raw path shows, with its reason."""
    plain = unquote(path) if "%" in path else path
    segments = _MATRIX.sub("", plain.lower().replace("_", "-")).split("/")
    if "." in plain:
        segments += [_EXTENSION.sub("", segment) for segment in segments]
    if _SEGMENT_WORDS.isdisjoint(segments):
        return None
    for segment in segments:
        label = _SEGMENTS.get(segment)
        if label is not None and label not in off:
            return f"{label}: path segment '{segment}'"
    return None


def class_of_values(query_text: str, off: frozenset[str] = frozenset()) -> str | None:
    """The never-touch class that a value in a raw query shows, with its reason."""
    # Every signed web token begins with the Base64 of `{"`.
    if "eyJ" in query_text and LOGIN not in off:
        token = _WEB_TOKEN.search(query_text)
        if token:
            return f"{LOGIN}: a web token in '{query.name_of(token.group(1))}'"
    for item in query_text.split("&"):
        name, _, value = item.partition("=")
        if _is_action(name if "%" not in name else query.name_of(name)):
            label = _ACTION_VALUES.get(unquote(value).lower().replace("_", "-"))
            if label is not None and label not in off:
                return f"{label}: '{item}'"
    return None


def action_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names whose values may show a never-touch class."""
    return tuple(filter(_is_action, names))


def is_action_value(value: str) -> bool:
    """Whether a raw value shows a never-touch class behind an action name."""
    return unquote(value).lower().replace("_", "-") in _ACTION_VALUES


def _is_action(name: str) -> bool:
    return name.lower() in _ACTION_NAMES


@lru_cache(maxsize=10_000)
def _is_suspect(name: str) -> bool:
    # Few names make up most patterns, and most of them show nothing.
    name = name.lower()
    return name in _NAMES or name in _COMBINATIONS or _class_by_affix(name) is not None


def _class_by_affix(name: str) -> str | None:
    if match := _BEGINNING.match(name):
        oauth = match.group().startswith(("openid", "oauth"))
        return OAUTH if oauth else SIGNATURE if match.group().startswith("x-") else CHALLENGE
    if match := _ENDING.search(name):
        return _ENDINGS[match.group()]
    return None
