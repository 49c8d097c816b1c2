import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { movedRules } from './moved-rules.ts';
import { permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';

const from = '/users/ann/pro ject';
const to = '/users/ann/.cache/copy+(1)';

const name = fc.constantFrom('users', 'ann', 'pro ject', 'src', 'a.ts', '(group)', 'USERS');
const globName = fc.oneof(
  { arbitrary: name, weight: 5 },
  fc.constantFrom('*', '**', 'a*', '?nn', '[u]sers', '*.ts'),
);
const glob = fc
  .tuple(
    fc.constantFrom('', 'users/ann/pro ject', 'users/*/pro ject', '**', 'users/**'),
    fc.array(globName, { maxLength: 3 }),
  )
  .map(([start, rest]) => `/${[...(start === '' ? [] : [start]), ...rest].join('/')}`)
  .filter((path) => path !== '/');
const rule: fc.Arbitrary<PermissionRule> = fc.record({
  tool: fc.constant('read'),
  path: glob,
  decision: fc.constantFrom('allow' as const, 'deny' as const),
  exact: fc.boolean(),
});

test('18.313: moved rules deny at least as much in the copy as in the folder, and allow no more', () => {
  fc.assert(
    fc.property(rule, fc.array(name, { minLength: 1, maxLength: 3 }), (one, names) => {
      // Without other rules, files outside of the root need an approval.
      const decide = (root: string, rules: readonly PermissionRule[]) =>
        permissionPolicy({ root: '/elsewhere', rules }).decide({
          ...{ tool: 'read', input: { path: [root, ...names].join('/') } },
        }).decision;
      // The rule itself can also match the copy, for example `/users/**`.
      const [there, copy] = [decide(from, [one]), decide(to, [one])];
      const moved = decide(to, movedRules([one], from, to));
      if (there === 'deny') expect(moved).toBe('deny');
      if (one.decision === 'allow') expect(moved).toBe(there === 'allow' ? 'allow' : copy);
    }),
    { numRuns: runs(2000) },
  );
});

test('a glob with groups above the folder is refused, because its names cannot be compared', () => {
  const deny = (path: string) => movedRules([{ path, decision: 'deny' }], from, to);
  expect(() => deny('/users/{ann,bob/x}/**')).toThrow(/without braces and groups/);
  expect(deny('/etc/{a,b}')).toHaveLength(1);
  expect(deny(`${from}/{a,b}`)).toHaveLength(2);
  expect(deny('src/{a,b}')).toHaveLength(1);
});
