import { expect, test } from 'vitest';
import { permissionPolicy } from './permission-policy.ts';

// With more than linear time or memory, these calls would exceed the limits of a test.
test.each([
  ['read', { path: 'a/'.repeat(120_000) }],
  ['write', { path: 'a/'.repeat(120_000), content: '' }],
  ['bash', { command: `cat ${'a/'.repeat(120_000)}` }],
])(
  '18.497: attack: the path of one %s call blocks the process and fills its memory',
  (tool, input) => {
    const rules = ['secret/**', '**/a/**/a/**/a/**/b'].map((path) => {
      return { tool: '*', path, decision: 'deny' } as const;
    });
    const policy = permissionPolicy({ root: '/project', rules });
    expect(policy.decide({ tool, input }).decision).toMatch(/allow|ask|deny/);
  },
);

test.each([
  '*a*a*a*a*a*a*a*a*b',
  '{a,aa}{a,aa}{a,aa}{a,aa}b',
  '*?*?*?*?*?b',
  '+(a)+(a)+(a)+(a)+(a)b',
  `${'**/a/'.repeat(9)}b`,
])('18.148: attack: matching the rule %s of a project never ends', (glob) => {
  const policyWith = (rule: { readonly tool: string; readonly path?: string }) =>
    permissionPolicy({ root: '/project', rules: [{ ...rule, decision: 'deny' }] });
  expect(() => policyWith({ tool: 'read', path: glob })).toThrow(/Cannot use the rule.* more than/);
  expect(() => policyWith({ tool: glob })).toThrow(/Cannot use the rule.* more than/);
});
