import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nearestModels } from './nearest-name.ts';

const names = [
  'anthropic/claude-sonnet-5-5',
  'anthropic/claude-opus-5-5',
  'mistral/mistral-medium-latest',
  'demo',
];

test.each([
  ['claud-sonet', ['anthropic/claude-sonnet-5-5']],
  ['claude-sonnet-5', ['anthropic/claude-sonnet-5-5']],
  ['antropic/claude-opus-5-5', ['anthropic/claude-opus-5-5']],
  ['MISTRAL-MEDUIM', ['mistral/mistral-medium-latest']],
  ['sonnet', ['anthropic/claude-sonnet-5-5']],
  ['dmeo', ['demo']],
  ['something quite different', []],
])('for %j the first suggestion is %j', (name, nearest) => {
  expect(nearestModels(name, names).slice(0, 1)).toEqual(nearest);
});

test('a name is nearest to itself, each is returned once, and never more than requested', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, maxLength: 20 })), fc.nat(4), (all, most) => {
      const [first] = all;
      const near = nearestModels(first ?? '', [...all, ...all], most);
      expect(near.length).toBeLessThanOrEqual(most);
      expect(new Set(near).size).toBe(near.length);
      if (most > 0) expect(near[0]?.toLowerCase()).toBe(first?.toLowerCase());
    }),
  );
});
