import { expect, test } from 'vitest';
import { riskyParts, withoutRiskyParts } from './trust.ts';

test.each([
  '*:/etc/hostname',
  '*:{/etc/hostname,zz/y}',
  '*:{zz/y,/etc/hostname}',
  '*:\\/usr/bin/git',
  '*:"/usr/bin"/git',
  '*:{/usr/bin/git}',
  '*:{,/private}/usr/bin/git',
  '*:{,x}/usr/bin/git',
  '*:?(x)/usr/bin/git',
  '*:@(a|/usr)/bin/git',
  'read: {{/usr,a}/bin,b}/git',
])('18.762: attack: a project that is not trusted denies an absolute path with %s', (rule) => {
  const settings = { permissions: { deny: [rule, '*:private/**'] } };
  expect(riskyParts(settings)).toEqual(['permissions.deny']);
  expect(withoutRiskyParts(settings).permissions?.deny).toEqual(['*:private/**']);
});

test.each(['*:{src/a,lib}/**', '*:[ab]/x', '*:@(a|b)/c', 'bash:/usr/bin/git', '*:\\{a}/b'])(
  'a project may deny %s without trust',
  (rule) => {
    expect(riskyParts({ permissions: { deny: [rule] } })).toEqual([]);
  },
);
