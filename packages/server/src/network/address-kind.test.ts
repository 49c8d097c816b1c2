import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { addressKind } from './address-kind.ts';
import { AgentNetwork } from './agent-network.ts';

test.each([
  ['8.8.8.8', 'public'],
  ['2606:4700::1111', 'public'],
  ['64:ff9b::8.8.8.8', 'public'],
  ['127.255.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['10.255.255.255', 'private'],
  ['172.31.255.255', 'private'],
  ['172.32.0.0', 'public'],
  ['fd12::1%eth0', 'private'],
  ['169.254.0.0', 'forbidden'],
  ['fe80::1%eth0', 'forbidden'],
  ['nowhere', 'forbidden'],
])('%s is %s', (address, kind) => {
  expect(addressKind(address)).toBe(kind);
});

test('an IPv4 address has the same kind when IPv6 contains it', () => {
  const addresses = fc.oneof(
    fc.ipV4(),
    fc.constantFrom('169.254.169.254', '127.0.0.1', '10.0.0.1', '100.100.100.200', '8.8.8.8'),
  );
  fc.assert(
    fc.property(addresses, (ipv4) => {
      const bytes = ipv4.split('.').map(Number);
      const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
      const groups = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`;
      const kind = addressKind(ipv4);
      const forms = [
        `::ffff:${ipv4}`,
        `::ffff:${groups}`,
        `64:ff9b::${ipv4}`,
        `64:ff9b::${groups}`,
      ];
      // An address that ends in 169.254.169.254 is forbidden in every form.
      expect(forms.map(addressKind)).toEqual(forms.map(() => kind));
    }),
    { numRuns: runs(1000) },
  );
});

test.each(['lan', '10.0.0.0', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', 'fd00::/129', ''])(
  'the network %j is refused',
  (name) => {
    expect(() => new AgentNetwork([name])).toThrow('Use loopback, private, public, or networks');
  },
);
