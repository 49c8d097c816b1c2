import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type PublishedPackage, publishedPackages, root } from './packages/published.ts';
import { outdatedUmbrellaFiles } from './packages/umbrella.ts';

const repository = 'https://github.com/millrace/millrace';
const packages = publishedPackages().map((one) => ({ ...one, name: one.manifest.name }));
const names = packages.map(({ name }) => name);

describe.each(packages)('$name', ({ folder, name, manifest }) => {
  test('has everything that npm shows and needs', () => {
    expect(manifest).toMatchObject({
      version: packages[0]?.manifest.version,
      description: expect.stringMatching(/^[A-Z].{20,140}\.$/),
      keywords: expect.arrayContaining(['millrace']),
      homepage: `${repository}/tree/main/${folder}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: 'git', url: `git+${repository}.git`, directory: folder },
      license: 'MIT',
      files: expect.any(Array),
      engines: { node: '>=22.18' },
      publishConfig: { access: 'public', provenance: true },
    });
    expect(new Set(manifest.keywords).size).toBe(manifest.keywords?.length);
    const license = readFileSync(join(root, folder, 'LICENSE'), 'utf8');
    expect(license).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'));
  });

  test('has ranges for what users install, so that one copy can serve several packages', () => {
    const { dependencies = {}, peerDependencies = {} } = manifest;
    const ranges = Object.entries({ ...dependencies, ...peerDependencies });
    // Matches version ranges in which each alternative has an upper bound, because of its caret.
    const bounded = /^\^\d+\.\d+\.\d+(?: \|\| \^\d+\.\d+\.\d+)*$/;
    expect(ranges.filter(([, range]) => !bounded.test(range))).toEqual([]);
    const ours = ranges.filter(([other]) => names.includes(other));
    expect(ours.filter(([, range]) => range !== `^${manifest.version}`)).toEqual([]);
  });

  test('has a README that starts with its name, and whose links work on npm', () => {
    const readme = readFileSync(join(root, folder, 'README.md'), 'utf8');
    expect(readme.split('\n')[0]).toBe(`# ${name}`);
    const mend = `Write ${repository}/blob/main/<file> for what is not in the package.`;
    expect(brokenLinks(readme, { folder, manifest }), mend).toEqual([]);
  });
});

/**
 * Returns links that would not work on npm. npm shows a README without the repository, so a
 * relative link must stay in the package.
 */
function brokenLinks(readme: string, { folder, manifest }: PublishedPackage): readonly string[] {
  const own = new RegExp(`^${repository}(?:/(?:blob|tree)/main/([^#?]+))?(?:[#?].*)?$`);
  return linksIn(readme).filter((link) => {
    if (link.startsWith('#')) return false;
    if (link.startsWith(`${repository}`)) {
      const path = own.exec(link)?.[1];
      return !own.test(link) || !existsSync(join(root, path ?? ''));
    }
    if (/^[a-z]+:/.test(link)) return !link.startsWith('https://');
    const [path = ''] = link.replace(/^\.\//, '').split('#');
    const isPacked = manifest.files?.some((one) => path === one || path.startsWith(`${one}/`));
    return !(isPacked && existsSync(join(root, folder, path)));
  });
}

/** Returns the targets of links and pictures, except those in code. */
function linksIn(markdown: string): readonly string[] {
  const text = markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, 'code');
  const inline = [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)];
  const others = [...text.matchAll(/^\[[^\]]+\]: (\S+)|(?:src|href)="([^"]+)"/gm)];
  return [...inline, ...others].flatMap(([, first, second]) => first ?? second ?? []);
}

test('the test of links finds links of each kind', () => {
  const markdown = ['[a](b.md) ![c](d.png "e")', '`[no](no.md)`', '[f]: g.md', '<img src="h.png">'];
  expect(linksIn(markdown.join('\n'))).toEqual(['b.md', 'd.png', 'g.md', 'h.png']);
  const own = { folder: 'packages/core', manifest: { name: '', version: '', files: ['src'] } };
  const links = ['../log', 'src/index.ts', 'src/none.ts', `${repository}/blob/main/none.md`];
  const text = [...links, `${repository}/blob/main/README.md#a`, 'http://insecure.example']
    .map((link) => `[x](${link})`)
    .join(' ');
  expect(brokenLinks(text, own)).toEqual([
    ...['../log', 'src/none.ts', `${repository}/blob/main/none.md`, 'http://insecure.example'],
  ]);
});

describe('the umbrella package', () => {
  test('has every subpath of its members', () => {
    expect(outdatedUmbrellaFiles(), 'Run `npm run umbrella`.').toEqual([]);
  });

  test('installs neither the command nor what the command is built with', () => {
    const seen = new Set<string>();
    const visit = (name: string) => {
      if (seen.has(name)) return;
      seen.add(name);
      const own = packages.find((one) => one.name === name)?.manifest;
      for (const other of Object.keys(own?.dependencies ?? {})) visit(other);
    };
    visit('millrace');
    expect([...seen].filter((name) => /cli$|^ink$|^react$|highlight/.test(name))).toEqual([]);
    expect(seen.size).toBeGreaterThan(names.length / 2);
  });
});

test('the command is one bundle without dependencies', () => {
  const cli = packages.find(({ name }) => name === '@millrace/cli')?.manifest;
  expect(cli).toMatchObject({ bin: { millrace: './bin/millrace.js' } });
  expect({ ...cli?.dependencies, ...cli?.peerDependencies }).toEqual({});
});

test('sources use nothing that Node 22 does not have', () => {
  const sources = globSync('{packages,apps/cli}/**/src/**/*.{ts,tsx}', { cwd: root }).filter(
    (path) => !/\.test\.|\/(?:testing|e2e|node_modules|dist)\//.test(path),
  );
  const newer =
    /\bnew (?:Async)?DisposableStack\b|\bPromise\.try\(|\bRegExp\.escape\(|\bError\.isError\(|\bIterator\.concat\(|\bMath\.sumPrecise\(|\.fromBase64\(|\.toBase64\(|\bFloat16Array\b|\bimport\.meta\.main\b|\.getOrInsert/;
  const found = sources.filter((path) => newer.test(readFileSync(join(root, path), 'utf8')));
  expect(sources.length).toBeGreaterThan(500);
  expect(found, 'The packages promise to run on Node 22.18.').toEqual([]);
});

test('CI runs the tests on the oldest Node that the packages support', () => {
  const oldest = packages[0]?.manifest.engines?.node?.replace('>=', '');
  const workflow = readFileSync(join(root, '.github/workflows/test.yml'), 'utf8');
  expect(workflow).toContain(`- node: ${oldest}.0\n`);
});

describe('changesets', () => {
  test('give all packages the same version', () => {
    const config = JSON.parse(readFileSync(join(root, '.changeset/config.json'), 'utf8'));
    expect(config).toMatchObject({ access: 'public', fixed: [[...names].sort()] });
  });
});
