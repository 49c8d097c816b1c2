import { expect, test } from 'vitest';
import { permissionPolicy } from './permission-policy.ts';

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
