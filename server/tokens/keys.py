"""Keys: what an identity provider signs tokens with, as far as it is taken."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWTError
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from server.tokens.parts import Json

SHORTEST_RSA, LONGEST_RSA = 2048, 8192  # bits; longer ones make every token slow
LONGEST_KID = 256
ALGORITHMS: Mapping[str, RSAAlgorithm | ECAlgorithm] = {
    "RS256": RSAAlgorithm(RSAAlgorithm.SHA256),
    "ES256": ECAlgorithm(ECAlgorithm.SHA256, SECP256R1),
}
FAMILIES = {"RSA": ("RS256", ("n", "e")), "EC": ("ES256", ("x", "y", "crv"))}  # what signs, and what makes the key
NOT_PUBLIC = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))
Keys = Mapping[tuple[str, str], "Key"]  # by kid and algorithm


@dataclass(frozen=True, slots=True)
class Key:
    """A public key with the name that tokens give it and the one algorithm that it is for."""

    kid: str
    algorithm: str
    material: Any  # of the cryptography library; of the kind that the algorithm takes

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Tell whether a signature of a message is of this key."""
        return bool(ALGORITHMS[self.algorithm].verify(message, self.material, signature))


def read_keys(published: Json) -> Keys:
    """Return the keys of a key set that may verify tokens; of two different ones of a name, none."""
    entries = published.get("keys")
    read = [key for entry in (entries if isinstance(entries, list) else []) for key in keys_of(entry)]
    read.sort(key=named)
    groups = ((name, list(of_name)) for name, of_name in groupby(read, named))
    return {name: keys[0] for name, keys in groups if all(key.material == keys[0].material for key in keys)}


def named(key: Key) -> tuple[str, str]:
    """Return what a key is found by."""
    return key.kid, key.algorithm


def keys_of(entry: object) -> Iterator[Key]:
    """Yield the key of an entry of a key set, where it is one that may verify tokens."""
    if not isinstance(entry, dict) or not NOT_PUBLIC.isdisjoint(entry):
        return
    algorithm, parts = FAMILIES.get(str(entry.get("kty")), ("", ()))
    kid = entry.get("kid")
    if not algorithm or not is_kid(kid) or entry.get("alg", algorithm) != algorithm or not is_for_signatures(entry):
        return
    if not all(isinstance(entry.get(part), str) for part in parts):
        return
    try:
        material = ALGORITHMS[algorithm].from_jwk(entry)
    except (PyJWTError, ValueError):
        return
    if is_strong(material):
        yield Key(str(kid), algorithm, material)


def is_kid(kid: object) -> bool:
    """Tell whether something is the name of a key."""
    return isinstance(kid, str) and 0 < len(kid) <= LONGEST_KID


def is_for_signatures(entry: Json) -> bool:
    """Tell whether a key may verify signatures, by what is said of it."""
    operations = entry.get("key_ops", ["verify"])
    return entry.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations


def is_strong(material: object) -> bool:
    """Tell whether a key is of a kind and a length that holds."""
    if isinstance(material, RSAPublicKey):
        return SHORTEST_RSA <= material.key_size <= LONGEST_RSA
    return isinstance(material, EllipticCurvePublicKey) and isinstance(material.curve, SECP256R1)
