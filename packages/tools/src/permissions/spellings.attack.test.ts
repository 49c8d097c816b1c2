import { describe, expect, test } from 'vitest';
import { lexicalPath } from '../workspace/match-path.ts';
import { secretsInFolder } from './home-protection.ts';
import { movedRules } from './moved-rules.ts';
import { permissionPolicy } from './permission-policy.ts';
import { readProtection, writeProtection } from './protected-paths.ts';

// Some file systems treat several spellings as the same name. A rule that denies one of them must deny all of them.

const root = '/srv/project';

const policyFor = (path: string, exact = false) =>
  permissionPolicy({ root, rules: [{ path, exact, decision: 'deny' }] });

const spellings = [
  ['secrets/**', '\u017fecrets/plan.txt'],
  ['SECRETS/**', 'secret\u017f/plan.txt'],
  ['keys.txt', '\u212aeys.txt'],
  ['*.key', 'server.\u212aEY'],
  ['Vertr\u00e4ge/**', 'Vertra\u0308ge/plan.txt'],
  ['vertra\u0308ge/**', 'VERTR\u00c4GE/plan.txt'],
  ['vertr?ge/**', 'vertra\u0308ge/plan.txt'],
  ['[\u00e4]/**', 'A\u0308/plan.txt'],
  ['stra\u00dfe.txt', 'STRASSE.txt'],
  ['strasse.txt', 'stra\u00dfe.txt'],
  ['strasse.txt', 'STRA\u1e9eE.TXT'],
  ['office.txt', 'o\ufb03ce.txt'],
  ['office.txt', 'of\ufb01ce.txt'],
  ['*/con\ufb01g', 'a/config'],
  ['{office,key}/**', 'o\ufb03ce/a'],
  ['\u03bf\u03b4\u03bf\u03c2*', '\u039f\u0394\u039f\u03a3a'],
  ['/srv/project/secrets', '\u017fecrets'],
  ['/SRV/Project/{a/secrets,b}', 'a/\u017fecrets'],
  ['stra?e/secrets', 'stra\u00dfe/\u017fecrets'],
  ['no\u200dtes.txt', 'notes.txt'],
] as const;

describe('18.760: attack: a call uses a path that a rule denies, in another spelling', () => {
  test.each(spellings)('%j does not deny %j', (glob, path) => {
    const decide = (tool: string, input: object) =>
      policyFor(glob).decide({ tool, input }).decision;
    expect(decide('read', { path })).toBe('deny');
    expect(decide('bash', { command: `cat '${path}'` })).not.toBe('allow');
    const [folder = '', name = ''] = /^(?:(.*)\/)?(.*)$/.exec(path)?.slice(1) ?? [];
    const isDenied = policyFor(glob).deniedEntries('grep')(`${root}/${folder ?? ''}`);
    expect(isDenied(name)).toBe(true);
  });

  test.each([
    ['secrets', '\u017fecrets'],
    ['stra\u00dfe.txt', 'STRASSE.TXT'],
    ['/srv/project/[id]/keys', '[id]/\u212aeys'],
  ])('the exact path %j does not deny %j', (path, other) => {
    const call = { tool: 'read', input: { path: other } };
    expect(policyFor(path, true).decide(call).decision).toBe('deny');
  });

  test('a search from above the path', () => {
    const call = { tool: 'grep', input: { pattern: 'a', path: '\u017fecrets' } };
    expect(policyFor('secrets/plan/*.txt').decide(call).decision).toBe('ask');
  });

  test('the sandbox has renamed the path', () => {
    const path = 'keys.txt.bloc\u212aed-by-\u017fandbox-1';
    expect(policyFor('keys.txt').decide({ tool: 'read', input: { path } }).decision).toBe('deny');
  });

  test.each([
    ['secrets', 'notes'],
    ['stra\u00dfe', 'strase'],
    ['a?', 'a\u00df'],
    ['\u00e4*', 'a.txt'],
  ])('but %j and %j are different names', (glob, path) => {
    const decision = policyFor(glob).decide({ tool: 'read', input: { path } }).decision;
    expect(decision).toBe(glob === 'a?' ? 'deny' : 'allow');
  });
});

test('18.760: attack: a rule that allows a name does not allow other spellings of it', () => {
  const policy = permissionPolicy({ root, rules: [{ path: 'keys.txt', decision: 'allow' }] });
  const call = { tool: 'write', input: { path: '\u212aeys.txt', content: '' } };
  expect(policy.decide(call).decision).toBe('ask');
});

test('18.761: attack: another spelling of a program avoids a rule that denies it', () => {
  const rules = [{ command: 'psql', decision: 'deny' as const }];
  const call = { tool: 'bash', input: { command: '/usr/bin/p\u017fql -c 1' } };
  expect(permissionPolicy({ root, rules }).decide(call).decision).toBe('deny');
});

test.each(['.\u1e9eh/id', '.\u017f\u017fh/id', '.a\u200dws/x', 'creden\u200dtials', '.\u017fvn/a'])(
  '18.761: attack: a file that looks like a secret has the spelling %j',
  (path) => {
    expect(readProtection(path)).toBeDefined();
    const [folder = '', name = ''] = path.split('/');
    const isSecret = secretsInFolder(lexicalPath(root, name === '' ? '.' : folder));
    expect(isSecret(name === '' ? folder : name)).toBe(true);
  },
);

test.each(['.gitcon\ufb01g', '.v\u017fcode/tasks.json', 'jen\u212ains\ufb01le', 'AGENT\u017f.md'])(
  '18.761: attack: a file that programs execute has the spelling %j',
  (path) => {
    expect(writeProtection(path)).toBeDefined();
  },
);

test('18.761: attack: a file that an MCP server executes has another spelling', () => {
  const rules = [{ tool: 'write', decision: 'allow' as const, yields: true }];
  const policy = permissionPolicy({ root, rules, executedFiles: [`${root}/tools/server.js`] });
  const call = { tool: 'write', input: { path: 'tools/\u017ferver.js', content: '' } };
  expect(policy.decide(call).decision).toBe('ask');
});

test('18.761: attack: a rule names a folder in another spelling, and a sub-agent works in a copy', () => {
  const rules = [
    { path: '/SRV/stra\u00dfe/private/**', decision: 'deny' as const },
    { path: '/srv/STRA\u00dfE/a[b]', exact: true, decision: 'deny' as const },
  ];
  const moved = movedRules(rules, '/srv/strasse', '/copy');
  expect(moved.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/copy/private/**', '/copy/a[b]']),
  );
});
