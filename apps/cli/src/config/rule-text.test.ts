import type { PermissionRule } from '@millrace/tools';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../packages/core/src/testing/runs.ts';
import { ruleFromText, ruleToText } from './rule-text.ts';

const cases: readonly (readonly [string, Omit<PermissionRule, 'decision'>])[] = [
  ['bash', { tool: 'bash' }],
  ['*', {}],
  ['github_*', { tool: 'github_*' }],
  ['bash:git status', { tool: 'bash', command: 'git status' }],
  [
    'bash=git log --format="%h: %s"',
    { tool: 'bash', command: 'git log --format="%h: %s"', exact: true },
  ],
  ['write:src/**', { tool: 'write', path: 'src/**' }],
  ['edit=src/a=b.ts', { tool: 'edit', path: 'src/a=b.ts', exact: true }],
  ['*:.env', { path: '.env' }],
];

test.each(cases)('%s', (text, rule) => {
  expect(ruleFromText(text, 'deny')).toEqual({ ...rule, decision: 'deny' });
  expect(ruleToText({ ...rule, decision: 'deny' })).toBe(text);
});

test.each(['', ' ', ':x', '=x', 'bash:', 'bash= ', 'two words:x', 'task:x', 'github_push:x'])(
  '%j is not a valid rule, and the message shows what is',
  (text) => {
    expect(() => ruleFromText(text, 'allow')).toThrow(
      /Cannot use the rule .*Write it like "bash:git status"/s,
    );
  },
);

test('a rule with a misspelt tool is not valid, and the message names the tool', () => {
  expect(() => ruleFromText('raed:secrets/**', 'deny')).toThrow('Did you mean read?');
  expect(() => ruleFromText('web_ftech:docs.rs', 'allow')).toThrow('Did you mean web_fetch?');
});

test('any rule that a policy can make for a call is the same after it was written down', () => {
  const words = fc.string({ minLength: 1 }).filter((text) => text.trim() === text && text !== '');
  const text = fc.string({ minLength: 1 }).filter((each) => each.trim() !== '');
  const subject = fc.oneof(
    words.map((what) => ({ what })),
    text.map((what) => ({ what, exact: true })),
  );
  const rule = fc.oneof(
    subject.map(({ what, ...exact }) => ({ tool: 'bash', command: what, ...exact })),
    fc
      .tuple(fc.constantFrom('read', 'edit'), subject)
      .map(([tool, { what, ...exact }]) => ({ tool, path: what, ...exact })),
    fc.constantFrom({ tool: 'github_push' }, { tool: 'task' }),
  );
  fc.assert(
    fc.property(rule, (given) => {
      const whole: PermissionRule = { ...given, decision: 'allow' };
      expect(ruleFromText(ruleToText(whole), 'allow')).toEqual(whole);
    }),
    { numRuns: runs(1000) },
  );
});
