// Addresses and hosts are recognised while a user types them.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  addressBehind,
  addressProblem,
  meantAddresses,
  remoteAddressProblem,
  hostProblem,
} from "../../extension/clusters/address";

const ADDRESSES: readonly (readonly [string, boolean])[] = [
  ["8265", true],
  [" 8265 ", true],
  ["head:8265", true],
  ["10.0.0.1:8265", true],
  ["[::1]:8265", true],
  ["http://head:8265", true],
  ["https://head/ray", true],
  ["https://head/ray/#/overview", true],
  ["slurm://12345", true],
  ["slurm://12345_7", true],
  ["slurm://12345+1", true],
  ["ssh://login/8265", true],
  ["ssh://alice@login.site.org/node-1:8265", true],
  ["ssh://login/http://node-1:8265", true],
  ["ssh://login/slurm://12345", true],
  ["", false],
  ["0", false],
  ["65536", false],
  ["head", false],
  ["head:70000", false],
  ["ray://head:10001", false],
  ["file:///etc/passwd", false],
  ["head:8265/path", false],
  ["user@head:8265", false],
  ["slurm://", false],
  ["slurm://12;reboot", false],
  ["slurm://-12", false],
  ["ssh://login", false],
  ["ssh://login/", false],
  ["ssh://-oProxyCommand=reboot/8265", false],
  ["ssh://a b/8265", false],
  ["ssh://login/ssh://other/8265", false],
  ["-h:8265", false],
];

for (const [address, good] of ADDRESSES) {
  test(`the address ${JSON.stringify(address)} is ${good ? "accepted" : "refused"}`, () => {
    assert.equal(addressProblem(address) === undefined, good);
  });
}

const MEANT: readonly (readonly [string, readonly string[]])[] = [
  ["gpu-1", ["gpu-1:8265", "ssh://gpu-1/8265"]],
  ["alice@gpu-1", ["ssh://alice@gpu-1/8265"]],
  ["ssh://gpu-1", ["ssh://gpu-1/8265"]],
  ["localhost", ["localhost:8265"]],
  ["ray://head:10001", ["head:8265"]],
  ["head:6379", ["head:8265"]],
  ["123456", ["slurm://123456"]],
  ["12345_7", ["slurm://12345_7"]],
  ["8265", []],
  ["head:8265", []],
  ["raysubmit_abc", []],
  ["-oProxyCommand=reboot", []],
  ["file:///etc/passwd", []],
];

for (const [text, addresses] of MEANT) {
  test(`${JSON.stringify(text)} means ${addresses.join(" or ") || "no address"}`, () => {
    assert.deepEqual(
      meantAddresses(text).map(({ address }) => address),
      addresses,
    );
  });
}

const HOSTS: readonly (readonly [string, boolean])[] = [
  ["login", true],
  ["alice@login-1.site.org", true],
  ["[fe80::1]", true],
  [" login ", true],
  ["", false],
  ["-oProxyCommand=reboot", false],
  ["login other", false],
  ["login;reboot", false],
  ["$(reboot)", false],
  ["ssh://login", false],
];

for (const [host, good] of HOSTS) {
  test(`the host ${JSON.stringify(host)} is ${good ? "accepted" : "refused"}`, () => {
    assert.equal(hostProblem(host) === undefined, good);
  });
}

test("what is typed beyond a host becomes an address through it", () => {
  assert.equal(addressBehind("login", " 8265 "), "ssh://login/8265");
  assert.equal(addressBehind("login", "node-1:8265"), "ssh://login/node-1:8265");
  assert.equal(addressBehind("login", "slurm://12"), "ssh://login/slurm://12");
  assert.equal(addressBehind("login", "ssh://other/8265"), undefined);
  assert.equal(addressBehind("login", "node-1"), undefined);
  assert.match(remoteAddressProblem("node-1") ?? "", /host:port/);
});
