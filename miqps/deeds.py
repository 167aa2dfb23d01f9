"""URLs that may change something when they are asked for: they are never replayed.

Whole words are looked at, never parts of them: `/account/delete` is a deed, the title
`/blog/how-to-delete-files` is none. Words in a title, in a search or below `/docs/` that look like
a deed cost a sample; a missed one may cost somebody's data. So doubt makes a deed.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from miqps import query, urls


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_EXTENSION = re.compile(r"\.[a-z0-9]{1,6}\Z", re.IGNORECASE)

# A deed as a whole segment, name or action; several words are written together.
_WHOLE = _set("""
    logout signout logoff signoff delete remove destroy unsubscribe subscribe optout unfollow
    follow vote votes upvote downvote like unlike dislike rate confirm confirmation verify
    activate activation deactivate cancel approve reject decline revoke purge erase wipe
    uninstall ban unban purchase buy buynow checkout cart basket wishlist pay payment donate
    refund withdraw impersonate cron shutdown reboot restart toggle undo trash untrash unpublish
    addtocart addtobasket addtobag addtowishlist addtocompare additem shoppingcart emptycart
    clearcart updatecart deleteaccount closeaccount confirmemail verifyemail acceptinvite
    abmelden ausloggen deconnexion cerrarsesion uitloggen sair warenkorb panier carrito carrello
    winkelwagen carrinho loeschen supprimer eliminar elimina verwijderen excluir desinscription
    abbestellen cancelar annuler stornieren
    """)
# A deed as first or last word of a short name too: `delete-account`, `cart_remove`, `addToCart`.
_STRONG = _set("""
    logout signout logoff signoff delete remove destroy unsubscribe deactivate purge cart basket
    checkout upvote downvote
    """)
# A deed behind an id only: `/post/123/accept`, but not `/accept` or `/docs/install`.
_BEHIND_ID = _set("""
    accept archive unarchive block unblock mute unmute star unstar flag report send resend
    publish enable disable install upgrade lock unlock pin unpin close reopen join leave claim
    redeem apply clear reset submit favorite favourite favorites unfavorite bookmark watch
    unwatch share subscribe add
    """)
# A deed as the value of `action=` and the like.
_ACTS = (
    _WHOLE
    | _BEHIND_ID
    | _set("""
    edit save update create post set insert login register signup move rename merge upload
    import rollback revert recover draft quickadd
    """)
)
_ACTION_NAMES = _set("""
    action act do op cmd task mode method _method event operation command func function a m verb
    perform todo view route step
    """)
# Without one of these words in it no URL is a deed; most are done with that.
_TRIGGERS = _ACTS | {"out", "off", "opt", "now", "bag", "item", "account", "compare", "cerrar"}
_LONGEST_DEED = 3


def deed(url: str) -> str | None:
    """Why asking for this URL may change something; None when it does not look so."""
    text = unquote(url) if "%" in url else url
    if _TRIGGERS.isdisjoint([word.lower() for word in _WORD.findall(text)]):
        return None
    found = _deed_in_path(urls.path(url))
    if found is not None:
        return f"path segment '{found}'"
    raw = query.split(url)[1]
    for item in query.items(raw) if raw else ():
        if item and _deed_in_item(query.name_of(item), unquote(query.value_of(item) or "")):
            return f"query item '{item}'"
    return None


def _deed_in_path(path: str) -> str | None:
    behind_id = False
    for raw in path.split("/"):
        segment = _EXTENSION.sub("", unquote(raw.partition(";")[0]))
        words = _words(segment)
        if _is_deed(words) or (behind_id and "".join(words) in _BEHIND_ID):
            return segment
        behind_id = "*" in urls.path_template("/" + raw)
    return None


def _deed_in_item(name: str, value: str) -> bool:
    if _is_deed(_words(name)):
        return True
    if "/" in value:
        return _deed_in_path(value) is not None
    words = _words(value)
    if name.lower() in _ACTION_NAMES:
        return "".join(words) in _ACTS or any(word in _STRONG for word in words)
    return len(words) <= _LONGEST_DEED and "".join(words) in _STRONG


def _is_deed(words: list[str]) -> bool:
    if not words or len(words) > _LONGEST_DEED:
        return False
    return "".join(words) in _WHOLE or words[0] in _STRONG or words[-1] in _STRONG


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
