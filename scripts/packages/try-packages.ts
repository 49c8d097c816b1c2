import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { PackedPackage } from './pack.ts';
import { root } from './published.ts';
import { runProgram } from './run-program.ts';
import { foreignPackages, type Snippet, snippetsOf } from './snippets.ts';

/** The packages to try, and the environment in which they are tried. */
export interface TryOptions {
  readonly packages: readonly PackedPackage[];
  /** An empty folder. */
  readonly folder: string;
  /** The path of the Node program that runs everything. */
  readonly node: string;
  /** Environment variables for npm. They set its cache and the registry with our packages. */
  readonly env: Readonly<Record<string, string>>;
}

/** The numbers of snippets and imports that were tried. */
export interface TryReport {
  readonly snippets: number;
  readonly imports: number;
}

/**
 * Installs the umbrella package into an empty project, as a user would. Then it runs the snippets
 * of the READMEs, imports every subpath, and runs the command.
 */
export async function tryLibrary(options: TryOptions): Promise<TryReport> {
  const umbrella = packageNamed(options, 'millrace');
  const members = membersOf(options);
  const readmes = [
    join(root, 'README.md'),
    ...members.map(({ content }) => join(content, 'README.md')),
  ];
  const snippets = readmes.flatMap((path) => snippetsOf(readFileSync(path, 'utf8')));
  const project = await installed(options, [umbrella.tarball, ...foreignPackages(snippets)]);
  const imports = await importAll(project, members);
  await runSnippets(project, snippets);
  await runCommand(options, project, umbrella.manifest.version);
  return { snippets: snippets.length, imports };
}

/**
 * Installs the packages that `millrace` does not contain. It also installs their peers, and the
 * packages that the snippets of their READMEs import. Then it runs these snippets and imports every
 * subpath.
 */
export async function tryOthers(options: TryOptions): Promise<TryReport> {
  const members = membersOf(options);
  const others = options.packages.filter((one) => !members.includes(one));
  const readmes = others.map(({ content }) => readFileSync(join(content, 'README.md'), 'utf8'));
  const snippets = readmes.flatMap(snippetsOf);
  const imported = members.filter(({ manifest: { name } }) =>
    snippets.some(({ code }) => code.includes(`from '${name}'`)),
  );
  const names = [...others, ...imported].map(({ manifest: { name, version }, tarball }) =>
    // The local registry contains only packages with a scope. So a package without a scope is
    // installed from its file.
    name.startsWith('@') ? `${name}@${version}` : tarball,
  );
  const project = await installed(options, [...names, ...foreignPackages(snippets)]);
  const imports = await importAll(project, others);
  await runSnippets(project, snippets);
  await runCommand(options, project, others[0]?.manifest.version ?? '');
  return { snippets: snippets.length, imports };
}

interface Project {
  readonly folder: string;
  readonly node: string;
  readonly env: Readonly<Record<string, string>>;
}

async function installed(
  { folder, node, env }: TryOptions,
  packages: readonly string[],
): Promise<Project> {
  const home = join(folder, 'home');
  const project = join(folder, 'project');
  for (const one of [home, project]) mkdirSync(one, { recursive: true });
  const manifest = { name: 'empty-project', private: true, type: 'module' };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  const path = [dirname(node), process.env['PATH'] ?? ''].join(delimiter);
  // npm sets these variables for the scripts that it runs, and npm may have started this process.
  // So they are reset.
  const own = { PATH: path, npm_execpath: '', npm_config_local_prefix: '', ...env };
  const result = {
    folder: project,
    node,
    env: { ...own, XDG_CACHE_HOME: home, XDG_DATA_HOME: home },
  };
  await install(result, packages);
  return result;
}

async function install({ folder, env }: Project, packages: readonly string[]): Promise<void> {
  const args = ['install', '--no-audit', '--no-fund', ...packages];
  await runProgram('npm', args, { cwd: folder, env });
}

async function runSnippets({ folder, node, env }: Project, snippets: readonly Snippet[]) {
  for (const [index, { code, printed }] of snippets.entries()) {
    const file = join(folder, `snippet-${index + 1}.ts`);
    writeFileSync(file, code);
    const { stdout } = await runProgram(node, [file], { cwd: folder, env });
    if (printed !== undefined && stdout !== printed)
      throw new Error(`This snippet printed\n${stdout}\ninstead of\n${printed}\n\n${code}`);
  }
}

/**
 * Imports every subpath. The first pass has no optional peers. A subpath may fail in this pass if
 * it needs an optional peer. Then it installs these peers, as the READMEs tell users, and imports
 * the rest.
 */
async function importAll(project: Project, packages: readonly PackedPackage[]): Promise<number> {
  const { folder, node, env } = project;
  const importOne = async (path: string) => {
    const run = ['--input-type=module', '--eval', `await import(${JSON.stringify(path)})`];
    await runProgram(node, run, { cwd: folder, env });
  };
  const waiting: string[] = [];
  const needed = new Set<string>();
  let count = 0;
  for (const { manifest } of packages) {
    const { name, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    for (const key of Object.keys(manifest.exports ?? {})) {
      // Node cannot import data and style sheets.
      if (/\.(?:json|css)$/.test(key)) continue;
      count += 1;
      await importOne(`${name}${key.slice(1)}`).catch((error: Error) => {
        const [, missing = ''] = /Cannot find package '([^']+)'/.exec(error.message) ?? [];
        if (key === '.' || !(missing in peerDependenciesMeta)) throw error;
        needed.add(`${missing}@${peerDependencies[missing]}`);
        waiting.push(`${name}${key.slice(1)}`);
      });
    }
  }
  if (needed.size > 0) await install(project, [...needed]);
  for (const path of waiting) await importOne(path);
  return count;
}

/**
 * Runs the command as `npx millrace` does. It prints the version and runs the demo with its tools.
 */
async function runCommand({ folder }: TryOptions, project: Project, version: string) {
  const work = join(folder, 'work');
  mkdirSync(join(work, 'src'), { recursive: true });
  writeFileSync(join(work, 'src/report.ts'), '// TODO: handle a missing forecast\n');
  const command = join(project.folder, 'node_modules/.bin/millrace');
  // Usually npm asks before it downloads the command. This variable answers yes. There is no API
  // key, so the demo runs.
  const env = {
    ...project.env,
    HOME: join(folder, 'home'),
    npm_config_yes: 'true',
    ...withoutKeys(),
  };
  const shown = await runProgram(command, ['--version'], { cwd: work, env });
  if (shown.stdout !== `${version}\n`)
    throw new Error(`millrace --version printed ${shown.stdout} instead of ${version}`);
  const demo = await runProgram(command, [], { cwd: work, env });
  if (!demo.stdout.includes('I found 1 TODO note.'))
    throw new Error(`The demo printed:\n${demo.stdout}\n${demo.stderr}`);
}

function withoutKeys(): Readonly<Record<string, string>> {
  const keys = Object.keys(process.env).filter((name) => /_(?:API_KEY|TOKEN)$/.test(name));
  return Object.fromEntries(keys.map((name) => [name, '']));
}

function packageNamed({ packages }: TryOptions, name: string): PackedPackage {
  const found = packages.find(({ manifest }) => manifest.name === name);
  if (found === undefined) throw new Error(`There is no package ${name}`);
  return found;
}

/** Returns the umbrella package and the packages that it installs. */
function membersOf(options: TryOptions): readonly PackedPackage[] {
  const umbrella = packageNamed(options, 'millrace');
  const names = Object.keys(umbrella.manifest.dependencies ?? {});
  return [umbrella, ...names.map((name) => packageNamed(options, name))];
}
