"""Ed25519 signatures (RFC 8032) in pure Python, because the standard library has no signatures.

Each multiplication makes the same 51 additions of points, so neither a branch nor the number of steps depends on a
secret.  Python's integers are still not constant-time.  That is acceptable here: a key belongs to a single run, signs
only in its owner's own process, and never signs the same message twice, so a measurement can't be repeated.
"""

from __future__ import annotations

import functools
import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Extended coordinates X, Y, Z, T with x = X/Z, y = Y/Z, x*y = T/Z.
    Point = tuple[int, int, int, int]

KEY_SIZE = 32
SIGNATURE_SIZE = 64
_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_MINUS_1 = pow(2, (_P - 1) // 4, _P)
_NEUTRAL = (0, 1, 1, 0)
# Each addition processes one digit of this many bits.
_BITS = 5
_DIGITS = 51


class SecretKey:
    """Signs messages; created from 32 random bytes.  `public` is the encoded public key."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != KEY_SIZE:
            raise ValueError("not an Ed25519 key")
        digest = hashlib.sha512(seed).digest()
        clamped = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
        self._scalar = clamped % _ORDER
        self._prefix = digest[32:]
        self.public = _encoded(_base().times(self._scalar))

    def sign(self, message: bytes) -> bytes:
        number = _hashed(self._prefix, message)
        commitment = _encoded(_base().times(number))
        challenge = _hashed(commitment, self.public, message)
        answer = (number + challenge * self._scalar) % _ORDER
        return commitment + answer.to_bytes(32, "little")


class PublicKey:
    """Verifies signatures; raises ValueError for bytes that aren't a key."""

    def __init__(self, encoded: bytes) -> None:
        point = _decoded(encoded)
        self._encoded = encoded
        self._multiples = _Multiples(_negative(point))
        if _is_neutral(point) or not _is_neutral(self._multiples.times_odd(_ORDER)):
            raise ValueError("not an Ed25519 key")

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether `signature` is valid for `message`; never raises, and takes the same time for all bytes."""
        if len(signature) != SIGNATURE_SIZE:
            return False
        commitment, answer = signature[:32], int.from_bytes(signature[32:], "little")
        # RFC 8032 5.1.7: a larger number would make a second valid signature from a known one.
        if answer >= _ORDER:
            return False
        challenge = _hashed(commitment, self._encoded, message)
        total = _sum(_base().times(answer), _prepared(self._multiples.times(challenge)))
        return _encoded(total) == commitment


class _Multiples:
    """The multiples of a point that each digit of a factor can add."""

    def __init__(self, point: Point) -> None:
        self._rows: list[list[Point]] = []
        for _ in range(_DIGITS):
            double = _prepared(_sum(point, _prepared(point)))
            odd = [point]
            while len(odd) < 2 ** (_BITS - 1):
                odd.append(_sum(odd[-1], double))
            row = [_prepared(point) for point in odd]
            negative = [(plus, minus, z, _P - t) for minus, plus, z, t in reversed(row)]
            self._rows.append(negative + row)
            for _ in range(_BITS):
                point = _doubled(point)

    def times(self, number: int) -> Point:
        """`number` is below the order of the group; adding the order makes it odd and leaves the product as it is."""
        return self.times_odd(number + _ORDER * (1 - number % 2))

    def times_odd(self, number: int) -> Point:
        """`number` is odd and below 2**255.  All its digits are odd, from -31 to 31, so no addition is left out."""
        result = _NEUTRAL
        for row in self._rows[:-1]:
            digit = number % 2 ** (_BITS + 1) - 2**_BITS
            result = _sum(result, row[(digit + 2**_BITS - 1) >> 1])
            number = (number - digit) >> _BITS
        return _sum(result, self._rows[-1][(number + 2**_BITS - 1) >> 1])


@functools.cache
def _base() -> _Multiples:
    """The multiples of the base point; computed at the first use, which takes about 10 ms."""
    y = 4 * pow(5, -1, _P) % _P
    return _Multiples(_decoded(y.to_bytes(32, "little")))


def _hashed(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % _ORDER


def _prepared(point: Point) -> Point:
    """The form in which `_sum` takes its second point."""
    x, y, z, t = point
    return (y - x) % _P, (y + x) % _P, 2 * z % _P, 2 * _D * t % _P


def _sum(point: Point, prepared: Point) -> Point:
    x, y, z, t = point
    minus, plus, double_z, scaled_t = prepared
    a, b = (y - x) * minus % _P, (y + x) * plus % _P
    c, d = t * scaled_t % _P, z * double_z % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _doubled(point: Point) -> Point:
    x, y, z, _ = point
    a, b = x * x % _P, y * y % _P
    h = a + b
    e = h - (x + y) * (x + y)
    g = a - b
    f = 2 * z * z + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _negative(point: Point) -> Point:
    x, y, z, t = point
    return -x % _P, y, z, -t % _P


def _is_neutral(point: Point) -> bool:
    x, y, z, _ = point
    return x == 0 and y == z


def _encoded(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    return (y * inverse % _P | (x * inverse % _P & 1) << 255).to_bytes(32, "little")


def _decoded(encoded: bytes) -> Point:
    number = int.from_bytes(encoded, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if len(encoded) != KEY_SIZE or y >= _P:
        raise ValueError("not an Ed25519 key")
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _SQRT_MINUS_1 % _P
    if (x * x - square) % _P or (x == 0 and sign):
        raise ValueError("not an Ed25519 key")
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P
