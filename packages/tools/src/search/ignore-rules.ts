import ignore, { type Ignore } from 'ignore';

/** What `.gitignore` files say about paths below a folder, which is their base. */
export interface IgnoreRules {
  /** `path` is relative to the base, with `/`. Asked from above to below: what is in an ignored folder is not asked for. */
  ignores(path: string, isFolder: boolean): boolean;
  /** With those of a file in `folder`, which is relative to the base and '' for the base itself. */
  with(folder: string, text: string): IgnoreRules;
}

export const noRules: IgnoreRules = rulesOf(empty());

function rulesOf(manager: Ignore): IgnoreRules {
  return {
    ignores: (path, isFolder) => manager.ignores(isFolder ? `${path}/` : path),
    with: (folder, text) => rulesOf(empty().add(manager).add(patternsOf(text, folder))),
  };
}

function empty(): Ignore {
  return ignore({ ignorecase: false });
}

function patternsOf(text: string, folder: string): readonly string[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line) => anchored(line, folder));
}

/**
 * A line of a nested file as the base's own would say it. All rules are in one list this way, so that
 * the last match decides as it does for git, across files.
 */
function anchored(line: string, folder: string): readonly string[] {
  const trimmed = line.replace(/(?<!\\) +$/, '');
  if (folder === '' || trimmed === '' || trimmed.startsWith('#')) return [trimmed];
  const isNegative = trimmed.startsWith('!');
  const pattern = isNegative ? trimmed.slice(1) : trimmed;
  const body = pattern.replace(/^\//, '');
  if (body === '' || body === '/') return [];
  const isAnchored = /\/(?!$)/.test(pattern);
  return [`${isNegative ? '!' : ''}/${escaped(folder)}/${isAnchored ? '' : '**/'}${body}`];
}

function escaped(folder: string): string {
  return folder.replaceAll(/[\\*?[\]!# ]/g, '\\$&');
}
