"""The origin of a flow: the scheme, host and port under which its URL can be opened again."""

from __future__ import annotations

from ipaddress import ip_address

from mitmproxy import http
from mitmproxy.net.http.url import parse_authority
from mitmproxy.proxy import mode_specs

from miqps.origin import DEFAULT_PORTS, Origin

# In these the client opened a connection that mitmproxy took over; often only its address is known.
_BY_ADDRESS = (
    mode_specs.TransparentMode,
    mode_specs.Socks5Mode,
    mode_specs.LocalMode,
    mode_specs.WireGuardMode,
    mode_specs.TunMode,
)


def origin(flow: http.HTTPFlow, *, keep_host_header: bool = False) -> Origin:
    """The origin that makes the flow's URL one that the prober can open.

    A regular or upstream proxy is told host and port, and the Host header may claim anything. Where
    connections are taken over (transparent, local, WireGuard, tun, SOCKS) and only an address is
    known, the name is in the Host header, whose missing port is the scheme's own. A reverse proxy
    that keeps the Host header serves under that name, by the scheme its clients use; one that
    replaces it hides its own name from the server, so the server's origin is the one.
    """
    request = flow.request
    scheme, host, port = request.scheme, request.data.host, request.data.port
    mode = flow.client_conn.proxy_mode
    if isinstance(mode, mode_specs.ReverseMode):
        if not keep_host_header:
            return Origin(scheme, host, port)
        scheme = "https" if flow.client_conn.tls else "http"
    elif not (isinstance(mode, _BY_ADDRESS) and _is_address(host)):
        return Origin(scheme, host, port)
    try:
        named, its_port = parse_authority(request.host_header or "", check=True)
    except ValueError:
        return Origin(scheme, host, port)
    return Origin(scheme, named, its_port or DEFAULT_PORTS.get(scheme, port))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
