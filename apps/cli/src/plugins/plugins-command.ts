import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, normalize, resolve } from 'node:path';
import { promisify } from 'node:util';
import { safeEnv } from '@millrace/tools';
import { commandHint } from '../args/command-hint.ts';
import { askYesNo } from '../command/ask-user.ts';
import { hasTerminal } from '../command/without-terminal.ts';
import { envOutsideProject } from '../config/server-place.ts';
import type { PluginsArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env, Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { loadPlugin } from '../extensions/load-extensions.ts';
import { makeFolder } from '../make-folder.ts';
import { countOf } from '../print/text-table.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { manifestPath, pluginNameOf } from './plugin-layout.ts';
import { checkSpellings, contentText, shown, usedFiles } from './plugin-question.ts';
import {
  draftPlugin,
  isUnchanged,
  type PluginFile,
  pluginsFolder,
  readFiles,
  readPlugins,
  removePlugin,
} from './plugin-store.ts';

const run = promisify(execFile);

/** Runs `millrace plugins`: lists, adds and removes plugins. */
export async function pluginsCommand(args: PluginsArgs, host: Host): Promise<number> {
  const { env, stdout } = host;
  switch (args.action) {
    case 'list': {
      const plugins = await readPlugins(env);
      const lines = await Promise.all(
        plugins.map(async (plugin) => {
          const { name, source } = plugin;
          const problem = (await isUnchanged(env, plugin))
            ? ''
            : `  not used: its files have changed since you trusted it. To trust them again: ${commandHint({}, 'plugins add', source)}`;
          return `${name}  ${source}${problem}\n`;
        }),
      );
      writeText(stdout, lines.join('') || 'There are no plugins.\n');
      return exitCodes.done;
    }
    case 'remove':
      if (!(await removePlugin(env, args.operand)))
        throw new UsageError(`There is no plugin ${args.operand}. millrace plugins lists them`);
      writeText(stdout, `Removed the plugin ${args.operand}.\n`);
      return exitCodes.done;
    case 'add':
      return addPlugin(args, host);
  }
}

async function addPlugin({ operand, yes }: PluginsArgs, host: Host): Promise<number> {
  const { env, stdout, cwd } = host;
  // A name is always a package. Otherwise a folder of an untrusted project could replace a known package.
  const isFolder = /^(?:\.{0,2}[/\\]|[a-z]:[/\\]|\.{1,2}$)/i.test(operand);
  const source = isFolder ? await folderSource(resolve(cwd, operand)) : operand;
  const fetched = isFolder
    ? { folder: source, id: undefined, integrity: undefined }
    : await fetchPackage(source, host);
  try {
    const files = await readFiles(fetched.folder);
    checkSpellings(operand, files);
    const usual = nameOf(isFolder ? basename(source) : packageName(source));
    const manifest = files.find(({ path }) => path === normalize(manifestPath));
    const name = pluginNameOf(manifest?.bytes.toString(), usual);
    const draft = await draftPlugin(env, name, files);
    try {
      // The question shows what a session would load, because a session reads the same copy with the same functions.
      const loaded = await loadPlugin(draft.folder, name);
      const used = usedFiles(loaded, files);
      const count = used.code.length + used.texts.length;
      if (count === 0) throw notPlugin(operand, files);
      if (!yes) {
        if (!hasTerminal(host))
          throw new UsageError('Without a terminal, millrace plugins add needs --yes');
        const earlier = (await readPlugins(env)).find((one) => one.name === name);
        const replaces = earlier
          ? `It replaces the plugin from ${revealHidden(earlier.source)}.\n`
          : '';
        const content = contentText(loaded, used);
        const question = `The plugin ${name} comes from ${originOf(source, fetched)}.\n${replaces}It has these files:\n${content}Its hooks and extensions run with all your rights, in every project. Add it?`;
        const isWanted = await askYesNo(host, question);
        if (isWanted !== true) return exitCodes.aborted;
      }
      const { integrity } = fetched;
      await draft.store({ source, ...(integrity && { integrity }) });
      writeText(stdout, `Added the plugin ${name}, with ${countOf(count, 'file')}.\n`);
      return exitCodes.done;
    } finally {
      await draft.remove();
    }
  } finally {
    if (!isFolder) await rm(resolve(fetched.folder, '..'), { recursive: true, force: true });
  }
}

/** A repository can list several plugins. Each of them is a folder. */
function notPlugin(operand: string, files: readonly PluginFile[]): UsageError {
  const list = files.find(({ path }) => path === '.claude-plugin/marketplace.json');
  const folders = list === undefined ? [] : marketFolders(list.bytes.toString());
  const [first] = folders;
  if (first === undefined)
    return new UsageError(
      `${operand} is not a plugin: it has no folder skills, commands, agents or extensions, and no hooks.json`,
    );
  const names = folders.map(shown).join(', ');
  return new UsageError(
    `${operand} is a list of plugins. Add one of its folders, such as ${join(operand, shown(first))}. It has: ${names}`,
  );
}

function marketFolders(text: string): readonly string[] {
  try {
    const { plugins } = JSON.parse(text) as { readonly plugins?: unknown };
    const sources = (Array.isArray(plugins) ? plugins : []).map((one) => one?.source);
    return sources.filter((one) => typeof one === 'string' && one.startsWith('./')).slice(0, 100);
  } catch {
    return [];
  }
}

/** Describes where the files of a plugin come from. */
function originOf(source: string, { id, integrity }: Fetched): string {
  if (id === undefined) return `the folder ${shown(source)}`;
  const checked = integrity === undefined ? '' : ` (${revealHidden(integrity)})`;
  return `the npm package ${revealHidden(id)}${checked}`;
}

async function folderSource(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) throw new UsageError(`${path} is not a folder`);
  return realpath(path);
}

/** Returns the name of a package without its version: `@acme/tools` of `@acme/tools@1.2.0`. */
function packageName(spec: string): string {
  return spec.replace(/(?<=.)@[^@/]*$/, '');
}

function nameOf(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  if (name === '') throw new UsageError('The name of a plugin needs a letter or a digit');
  return name.slice(0, 64);
}

interface Fetched {
  readonly folder: string;
  /** The name and the version of the package. Undefined for a folder. */
  readonly id: string | undefined;
  readonly integrity: string | undefined;
}

/**
 * Downloads a package of npm and unpacks it. No script of the package runs. Packages that it depends on are not
 * installed.
 */
async function fetchPackage(spec: string, { env, cwd, signal }: Host): Promise<Fetched> {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~-]+)?$/i.test(spec))
    throw new UsageError(`${spec} is neither a folder nor the name of a package`);
  // npm runs in a folder that only this user can write to. npm also reads the settings of the folders above
  // its own, and any user of the machine can create files in a shared folder such as /tmp.
  const own = pluginsFolder(env);
  makeFolder(own);
  const place = await mkdtemp(join(own, '.fetch-'));
  try {
    // npm reads the project settings of the first folder that has this file.
    await writeFile(join(place, 'package.json'), '{}');
    const flags = ['--ignore-scripts', '--json', '--workspaces=false', '--pack-destination', place];
    // A project cannot provide the program `npm`, and its settings do not apply in this folder.
    const outside = npmEnv(await envOutsideProject(env, cwd));
    const options = { cwd: place, env: outside, signal, timeout: 120_000 };
    const { stdout } = await run('npm', ['pack', spec, ...flags], options);
    const [packed] = JSON.parse(stdout) as readonly Packed[];
    if (packed === undefined) throw new Error('npm returned no package');
    await run('tar', ['-xzf', join(place, basename(packed.filename)), '-C', place], options);
    const { id = spec, integrity } = packed;
    const folder = join(place, 'package');
    // The archive could contain a link to a folder of the user.
    if (!(await lstat(folder)).isDirectory()) throw new Error('the package is not a folder');
    return { folder, id, integrity };
  } catch (cause) {
    await rm(place, { recursive: true, force: true });
    throw notFetched(spec, cause, existsSync(resolve(cwd, spec)));
  }
}

/** The part of the output of `npm pack --json` that is used. */
interface Packed {
  readonly id?: string | undefined;
  readonly filename: string;
  readonly integrity?: string | undefined;
}

/** Returns the environment for npm. It has no API keys, but the settings and the tokens of npm. */
function npmEnv(env: Env): Record<string, string> {
  const isOfNpm = (name: string) => /^npm_(?:config_|token$)|^node_auth_token$/i.test(name);
  return safeEnv(env, { allow: Object.keys(env).filter(isOfNpm) });
}

function notFetched(spec: string, cause: unknown, isFolderToo: boolean): UsageError {
  const way = isFolderToo
    ? `To add the folder of this name, write ./${spec}`
    : 'Check its name and the network';
  return new UsageError(`Cannot fetch the package ${spec} with npm. ${way}`, {}, { cause });
}
