import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../make-folder.ts';
import { readFileSafely } from '../safe-files.ts';

/** Where the parts of a plugin are. All paths are absolute. */
export interface PluginLayout {
  /** The name that is put before the names of its commands: `/orders:status`. */
  readonly name: string;
  readonly folder: string;
  /** Folders with skills, or the folders of single skills. */
  readonly skills: readonly string[];
  /** Folders with commands, or single files. */
  readonly commands: readonly string[];
  readonly agents: readonly string[];
  readonly hooks: readonly PluginHooks[];
  /** A sentence about each part that is not used. */
  readonly problems: readonly string[];
}

/** A settings file with hooks, or the hooks of a manifest. */
interface PluginHooks {
  readonly file: string;
  /** The JSON text of the hooks, if they are in the manifest. Undefined for a file. */
  readonly content?: string | undefined;
  /**
   * True for plugins of Claude Code, whose hooks start in the folder of the session. Our own format starts hooks
   * in the folder of the plugin.
   */
  readonly isForeign: boolean;
}

/** The manifest of a plugin of Claude Code. Millrace ignores its other fields. */
export const manifestPath = '.claude-plugin/plugin.json';

const pathsSchema = z.union([z.string(), z.array(z.string())]).optional();
const manifestSchema = z.looseObject({
  name: z.string().optional(),
  skills: pathsSchema,
  commands: z.unknown().optional(),
  agents: pathsSchema,
  hooks: z.unknown().optional(),
});

type Manifest = z.infer<typeof manifestSchema>;

const maxManifestBytes = 2 ** 20;
const pluginName = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * Finds the parts of a plugin. A plugin has the folders `skills`, `commands`, `agents` and `extensions`, and hooks in
 * `hooks.json` or in `hooks/hooks.json`. The manifest of a plugin of Claude Code can name further paths.
 */
export async function readPluginLayout(folder: string, name: string): Promise<PluginLayout> {
  const problems: string[] = [];
  const file = join(folder, manifestPath);
  const text = await readFileSafely(file, { maxBytes: maxManifestBytes }).then(
    ({ bytes }) => bytes.toString('utf8'),
    () => undefined,
  );
  const parsed = text === undefined ? undefined : parseManifest(text);
  const manifest: Partial<Manifest> = parsed ?? {};
  if (text !== undefined && parsed === undefined)
    problems.push(`${file} is not used: it is not a manifest of a plugin.`);
  const inside = (paths: readonly string[]) =>
    paths.flatMap((path) => {
      if (isRelativeInside(path)) return [join(folder, path)];
      problems.push(`${file}: the path ${path} is not used, because it leads out of the plugin.`);
      return [];
    });
  const placesOf = (usual: string, given: unknown) => [
    ...new Set([join(folder, usual), ...inside(pathsOf(given))]),
  ];
  const { hooks } = manifest;
  const isInline = typeof hooks === 'object' && hooks !== null && !Array.isArray(hooks);
  const hookFiles = new Set(inside(['hooks/hooks.json', ...pathsOf(hooks)]));
  return {
    ...{ name: nameIn(manifest, name), folder },
    skills: placesOf('skills', manifest.skills),
    commands: placesOf('commands', manifest.commands),
    agents: placesOf('agents', manifest.agents),
    hooks: [
      { file: join(folder, 'hooks.json'), isForeign: false },
      ...[...hookFiles].map((path) => ({ file: path, isForeign: true })),
      ...(isInline ? [{ file, content: inlineHooks(hooks), isForeign: true }] : []),
    ],
    problems,
  };
}

/** Returns the name of a plugin: the name in the text of its manifest, or else the usual name. */
export function pluginNameOf(manifestText: string | undefined, usual: string): string {
  return nameIn(
    (manifestText === undefined ? undefined : parseManifest(manifestText)) ?? {},
    usual,
  );
}

function nameIn({ name = '' }: Partial<Manifest>, usual: string): string {
  return pluginName.test(name) ? name : usual;
}

/**
 * True if a path names a place in the plugin, wherever the folder of the plugin is. `../orders/x.json` can lead back
 * into the folder of a plugin that has the name `orders`, and out of each copy of it that has a different name.
 */
function isRelativeInside(path: string): boolean {
  return !/^(?:[/\\]|[a-z]:)/i.test(path) && !path.split(/[/\\]/).includes('..');
}

/** Returns the folder in which the hooks of a plugin can write. Creates it. */
export function pluginDataFolder(folder: string): string {
  const data = join(dirname(folder), '..', 'plugin-data', basename(folder));
  try {
    makeFolder(data);
  } catch {
    // The hook then finds no folder, and reports it.
  }
  return data;
}

/** Returns the hooks of a manifest as a settings file. They can be below a further field `hooks`. */
function inlineHooks(hooks: object): string {
  return JSON.stringify('hooks' in hooks ? hooks : { hooks });
}

function parseManifest(text: string): Manifest | undefined {
  try {
    return manifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Returns the paths of a field: a path, or a list of paths. */
function pathsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
