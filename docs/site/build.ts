// Builds the documentation site into docs/site/dist with TypeDoc: the pages of docs/, the READMEs of the
// packages, and a reference of every exported symbol. It uses no network. Any warning is an error:
// a broken link, an undocumented export, a type that is used but not exported.
import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Application,
  type CommentDisplayPart,
  Converter,
  DeclarationReflection,
  type DocumentReflection,
  LogLevel,
  normalizePath,
  type ProjectReflection,
  ReflectionKind,
} from 'typedoc';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');

/** A Markdown link to a file or folder of the repository: its path, and its anchor. */
const linkToRepository =
  /\]\(https:\/\/github\.com\/millrace\/millrace\/(?:blob|tree)\/main\/([^)#\s]+)(?:#([^)\s]+))?\)/g;

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

/** The source file of each entry point, and the name by which users import it. */
const entries = new Map<string, string>();
const packages: string[] = [];
// The package `millrace` only re-exports the others.
const isOwn = (path: string) => !path.startsWith('packages/millrace/');
for (const path of globSync('packages/*/package.json', { cwd: root }).filter(isOwn).sort()) {
  const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest;
  packages.push(name);
  for (const [subpath, target] of Object.entries(exports)) {
    const source = typeof target === 'string' ? undefined : target['@millrace/source'];
    if (source === undefined) continue;
    entries.set(join(root, dirname(path), source), name + subpath.slice(1));
  }
}

const app = await Application.bootstrap({
  name: 'Millrace',
  entryPoints: [...entries.keys()],
  tsconfig: join(here, 'tsconfig.json'),
  // `npm run build` checks the types. Here every package has the settings of one program.
  skipErrorChecking: true,
  basePath: root,
  displayBasePath: root,
  readme: join(root, 'docs/README.md'),
  projectDocuments: sections(),
  out: join(here, 'dist'),
  customCss: join(here, 'site.css'),
  includeVersion: false,
  disableGit: true,
  disableSources: true,
  hideGenerator: true,
  cleanOutputDir: true,
  highlightLanguages: ['ts', 'tsx', 'json', 'jsonl', 'sh', 'yaml', 'html', 'css', 'nginx'],
  headings: { readme: false, document: false },
  router: 'structure',
  searchInComments: true,
  searchInDocuments: true,
  searchGroupBoosts: { Documents: 8, Functions: 1.5 },
  groupOrder: ['Documents', 'Modules', 'Functions', 'Classes', '*'],
  sort: ['documents-first', 'source-order'],
  sortEntryPoints: false,
  navigation: { includeCategories: false, includeGroups: false, includeFolders: false },
  excludeExternals: true,
  excludePrivate: true,
  excludeInternal: true,
  packagesRequiringDocumentation: packages,
  requiredToBeDocumented: ['Variable', 'Function', 'Class', 'Interface', 'TypeAlias'],
  validation: { notExported: true, notDocumented: true, invalidLink: true, rewrittenLink: true },
  treatWarningsAsErrors: true,
  logLevel: LogLevel.Warn,
});

app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, page: DocumentReflection) => {
  page.name = titleOf(page);
  page.content = page.content.flatMap((part) =>
    part.kind === 'text' ? withPagesOfSite(page.project, part.text) : part,
  );
});
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
  for (const module of context.project.getReflectionsByKind(ReflectionKind.Module)) {
    if (!(module instanceof DeclarationReflection)) continue;
    const file = context.project.getSymbolIdFromReflection(module)?.fileName ?? '';
    module.name = entries.get(resolve(root, file)) ?? module.name;
  }
});

const project = await app.convert();
if (project === undefined) process.exit(1);
app.validate(project);
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);

/** The sections of the site, in order. Each has a page with its own pages as `children`. */
function sections(): string[] {
  const folders = ['start', 'concepts', 'guides', 'recipes', 'migrate'];
  const pages = folders.map((folder) => `docs/${folder}/README.md`);
  const others = [
    'docs/compare.md',
    'PROTOCOL.md',
    'docs/packages.md',
    'ARCHITECTURE.md',
    'SECURITY.md',
  ];
  return [...pages, ...others].map((path) => join(root, path));
}

/**
 * Replaces links to files on GitHub with links to the same pages of the site. The READMEs of the
 * packages have such links, because npm shows them without the other files.
 */
function withPagesOfSite(project: ProjectReflection, text: string): CommentDisplayPart[] {
  const parts: CommentDisplayPart[] = [];
  let end = 0;
  for (const match of text.matchAll(linkToRepository)) {
    const [link, path = '', anchor] = match;
    const start = match.index + ']('.length;
    const file = statSync(join(root, path)).isDirectory() ? join(path, 'README.md') : path;
    const { target } = project.files.registerAbsolute(normalizePath(join(root, file)));
    parts.push({ kind: 'text', text: text.slice(end, start) });
    parts.push({ kind: 'relative-link', text: file, target, targetAnchor: anchor });
    end = match.index + link.length - ')'.length;
  }
  return [...parts, { kind: 'text', text: text.slice(end) }];
}

/** A page is named by its first heading, so that the file needs no front matter. */
function titleOf({ content, name }: DocumentReflection): string {
  const text = content.map((part) => part.text).join('');
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? name;
}
