// Checks every published package with publint: npm run publint. Run `npm run build` first, because
// it reads the build output.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { publishedPackages, readManifest, root } from './packages/published.ts';

interface Packed {
  readonly name: string;
  readonly files: readonly { readonly path: string }[];
}

const packages = publishedPackages();
// A single npm call lists the files of all packages, which is faster.
const flags = ['--dry-run', '--json', '--ignore-scripts'];
const workspaces = packages.flatMap(({ folder }) => ['--workspace', folder]);
const listed = execFileSync('npm', ['pack', ...flags, ...workspaces], {
  ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 2 ** 27 },
});
const filesOf = new Map(
  (JSON.parse(listed) as readonly Packed[]).map((one) => [one.name, one.files]),
);

for (const { folder, manifest } of packages) {
  const files = (filesOf.get(manifest.name) ?? []).map(({ path }) => ({
    name: `package/${path}`,
    data: readFileSync(join(root, folder, path)),
  }));
  if (files.length === 0) throw new Error(`npm packs no files of ${folder}`);
  const { messages } = await publint({ pkgDir: 'package', strict: true, pack: { files } });
  const own = readManifest(join(root, folder, 'package.json'));
  for (const message of messages)
    console.error(`${folder}: ${formatMessage(message, { ...own }) ?? message.code}`);
  if (messages.some(({ type }) => type === 'error')) process.exitCode = 1;
}
