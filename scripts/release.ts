import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRegistry } from './packages/local-registry.ts';
import { faultsOf, type PackedPackage, packAll } from './packages/pack.ts';
import { type Manifest, publishedPackages, root } from './packages/published.ts';
import { runProgram } from './packages/run-program.ts';
import { type TryReport, tryLibrary, tryOthers } from './packages/try-packages.ts';

/**
 * Packs and checks all packages, and tries them in empty projects. Without `--dry-run`, it then
 * publishes the same files. In CI, npm can sign a statement about where a package was built. So
 * only CI can publish.
 */
const isRehearsal = readArguments(process.argv.slice(2));
if (!isRehearsal) {
  await refuseOutsideOfCi();
  // The workflow also runs after merges that do not change the version. In this case, there is
  // nothing to publish.
  if (await isPublished()) {
    console.log('Nothing to publish: the registry has all packages of this version.');
    process.exit();
  }
}
const folder = mkdtempSync(join(tmpdir(), 'millrace-release-'));
const removeFolder = () => rmSync(folder, { recursive: true, force: true });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    removeFolder();
    process.exit(1);
  });
}
try {
  const packages = await step('pack', () => packAll(folder));
  await check(packages);
  await tryAll(packages);
  if (isRehearsal) console.log('The rehearsal passed. Nothing was published.');
  else await publish(packages);
} finally {
  removeFolder();
}

function readArguments(args: readonly string[]): boolean {
  const unknown = args.filter((one) => one !== '--dry-run');
  if (unknown.length > 0)
    throw new Error(`Unknown argument ${unknown.join(' ')}: only --dry-run is known`);
  return args.length > 0;
}

async function refuseOutsideOfCi(): Promise<void> {
  const rehearse = 'To rehearse a release, run: npm run release -- --dry-run';
  const { CI, ACTIONS_ID_TOKEN_REQUEST_URL: signer } = process.env;
  if (CI !== 'true' || !signer)
    throw new Error(`Cannot publish: packages are published and signed only in CI. ${rehearse}`);
  const { stdout } = await runProgram('git', ['status', '--porcelain'], { cwd: root });
  if (stdout !== '') throw new Error(`Cannot publish: these files are not committed:\n${stdout}`);
  const versions = new Set(publishedPackages().map(({ manifest }) => manifest.version));
  if (versions.size !== 1 || versions.has('0.0.0'))
    throw new Error(`Cannot publish ${[...versions].join(', ')}: run \`npm run versions\` first`);
  refuseOldInstructions();
}

/** Stops if the documents still have the install instructions from before the first release. */
function refuseOldInstructions(): void {
  const documents = globSync('{*.md,docs/**/*.md,packages/*/README.md,apps/*/README.md}', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  const old = documents.filter((path) =>
    /\bnot on npm yet\b/.test(readFileSync(join(root, path), 'utf8')),
  );
  if (old.length > 0)
    throw new Error(
      `Cannot publish: these documents say that the packages are not on npm: ${old.join(', ')}`,
    );
}

/** Checks the content of each package. Also runs checks for bundlers and for TypeScript. */
async function check(packages: readonly PackedPackage[]): Promise<void> {
  const faults = packages.flatMap((one) =>
    faultsOf(one).map((fault) => `${one.manifest.name}: ${fault}`),
  );
  if (faults.length > 0) throw new Error(`The packages have faults:\n${faults.join('\n')}`);
  await step('publint', async () => {
    for (const { content } of packages) {
      const publint = join(root, 'node_modules/publint/src/cli.js');
      const args = [publint, '--strict', '--pack', 'false', content];
      await runProgram(process.execPath, args, { cwd: root });
    }
  });
  await step('attw', async () => {
    const tool = join(folder, 'attw');
    cpSync(join(root, 'scripts/attw'), tool, { recursive: true });
    await runProgram('npm', ['ci', '--ignore-scripts', '--no-audit'], { cwd: tool });
    for (const { manifest, tarball } of packages) {
      // The package of the command has no exports, so there is nothing to check.
      if (Object.keys(manifest.exports ?? {}).length <= 1) continue;
      const attw = join(tool, 'node_modules/@arethetypeswrong/cli/dist/index.js');
      const args = [attw, tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'];
      await runProgram(process.execPath, args, { cwd: tool });
    }
  });
}

/**
 * Tries the library on each Node version. Packages with large peers are tried only on the Node
 * version of this project.
 */
async function tryAll(packages: readonly PackedPackage[]): Promise<void> {
  const registry = await startRegistry(packages);
  const env = { ...registry.env, npm_config_cache: join(folder, 'npm-cache') };
  const attempt = (name: string, node: string, run: typeof tryLibrary) =>
    step(name, async () => {
      const own = join(folder, name.replaceAll(/\W+/g, '-'));
      const report = await run({ packages, folder: own, node, env });
      rmSync(own, { recursive: true, force: true });
      return report;
    });
  try {
    // The first version is the oldest version that the packages support.
    for (const version of ['22.18.0', '22', '24', '26']) {
      const node = await findNode(version, env);
      if (node === undefined)
        console.log(`node ${version}: skipped, the registry has none for this system`);
      else await attempt(`millrace on Node ${version}`, node, tryLibrary);
    }
    await attempt('all other packages', process.execPath, tryOthers);
  } finally {
    registry.close();
  }
}

/**
 * Returns the path of the program for a Node version. It is the program of this process, or it
 * comes from the registry.
 */
async function findNode(
  version: string,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath;
  const cwd = join(folder, `node-${version}`);
  mkdirSync(cwd);
  const name = `node-${process.platform}-${process.arch}`;
  const install = ['install', '--prefix', cwd, '--no-audit', '--no-fund', `${name}@${version}`];
  try {
    await runProgram('npm', install, { cwd, env });
    return join(cwd, 'node_modules', name, 'bin/node');
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    return undefined;
  }
}

/**
 * Publishes the packages in the order of their dependencies. Packages that are already published
 * are skipped. So after a failure, a second attempt continues.
 */
async function publish(packages: readonly PackedPackage[]): Promise<void> {
  for (const { manifest, tarball } of packages) {
    const id = `${manifest.name}@${manifest.version}`;
    if (await isInRegistry(manifest)) console.log(`${id}: exists`);
    else {
      const args = ['publish', tarball, '--provenance', '--access', 'public'];
      await step(`publish ${id}`, () => runProgram('npm', args, { cwd: folder }));
    }
  }
  // The workflow reads the new tags from this output. For each tag, it creates a release on GitHub.
  const tag = ['node_modules/@changesets/cli/bin.js', 'tag'];
  console.log((await runProgram(process.execPath, tag, { cwd: root })).stdout);
}

async function isPublished(): Promise<boolean> {
  for (const { manifest } of publishedPackages()) {
    if (!(await isInRegistry(manifest))) return false;
  }
  return true;
}

async function isInRegistry({ name, version }: Manifest): Promise<boolean> {
  const view = ['view', `${name}@${version}`, 'version'];
  // npm fails if a package does not exist. If it fails for a different reason, publishing fails
  // too.
  const found = await runProgram('npm', view, { cwd: tmpdir() }).catch(() => undefined);
  return found?.stdout.trim() === version;
}

/** Runs a step, and prints its result and its duration. */
async function step<T>(name: string, run: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await run();
  const seconds = Math.round((performance.now() - start) / 1000);
  console.log(`${name}: ok${describe(result)} (${seconds} s)`);
  return result;
}

function describe(result: unknown): string {
  if (Array.isArray(result)) return `, ${result.length} packages`;
  const { snippets, imports } = (result ?? {}) as Partial<TryReport>;
  return snippets === undefined ? '' : `, ${snippets} snippets, ${imports} imports`;
}
