import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** The entry of the bundle that runs scripts (apps/cli/src/compiled-scripts.ts). */
export const scriptRunner = 'compiled-scripts';

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

type Statement = ReturnType<typeof parseAst>['body'][number];
type ImportDeclaration = Extract<Statement, { readonly type: 'ImportDeclaration' }>;

/**
 * Moves the code of a module into a script, because Node can store the compiled functions of scripts, but
 * not those of modules. The module keeps its imports and exports: it passes what it imports to the
 * script, and exports what the script returns. The script is next to the module, so that both have the same
 * relative paths.
 */
export function moveToScript(file: string): void {
  const code = readFileSync(file, 'utf8');
  const { imports, locals, exports, cuts, isAsync } = partsOf(code, file);
  let body = code;
  for (const { start, end, text } of cuts.toSorted((a, b) => b.start - a.start))
    body = `${body.slice(0, start)}${text}${body.slice(end)}`;
  const parameters = [importMeta, importModule, ...locals].join(', ');
  const values = exports.map(({ local }) => local).join(', ');
  const script = inAscii(
    `"use strict"; (${isAsync ? 'async ' : ''}function (${parameters}) {${body}\nreturn [${values}];\n})\n`,
  );
  const hash = createHash('sha256').update(script).digest('base64url').slice(0, 16);
  const name = `${basename(file, '.js').replace(/-.{8}$/, '')}-${hash}.script.js`;
  writeFileSync(join(dirname(file), name), script);
  const run = `${isAsync ? 'await ' : ''}runScript(new URL("./${name}", import.meta.url))`;
  const results = exports.map((_, index) => `v${index}`).join(', ');
  const exported = exports.map((one, index) => `v${index} as ${one.exported}`).join(', ');
  writeFileSync(
    file,
    `${imports.join('\n')}
import { runScript } from "./${scriptRunner}.js";
const [${results}] = ${run}(${['import.meta', '(path) => import(path)', ...locals].join(', ')});
export { ${exported} };
`,
  );
}

/** The names of the parameters that replace `import.meta` and `import()`, which scripts do not have. */
const importMeta = 'importMeta';
const importModule = 'importModule';

interface ModuleParts {
  readonly imports: readonly string[];
  /** The names of the imported values in the module. */
  readonly locals: readonly string[];
  readonly exports: readonly { readonly local: string; readonly exported: string }[];
  /** The places that differ in the script. */
  readonly cuts: readonly { readonly start: number; readonly end: number; readonly text: string }[];
  /** True if the module awaits a value while it is loaded. */
  readonly isAsync: boolean;
}

function partsOf(code: string, file: string): ModuleParts {
  const refuse = (why: string) => new Error(`${file} cannot become a script: ${why}`);
  const { body } = parseAst(code);
  const imports: string[] = [];
  const locals: string[] = [];
  const exports: { local: string; exported: string }[] = [];
  const cuts: { start: number; end: number; text: string }[] = [];
  const variables = new Set<string>();
  for (const node of body) {
    const { start, end } = node;
    if (node.type === 'ImportDeclaration') {
      imports.push(isBuiltin(node.source.value) ? loadBuiltin(node, code) : code.slice(start, end));
      locals.push(...node.specifiers.map(({ local }) => local.name));
      cuts.push({ start, end, text: '' });
    } else if (node.type === 'ExportNamedDeclaration' && node.source === null) {
      for (const { local, exported } of node.specifiers)
        exports.push({
          local: code.slice(local.start, local.end),
          exported: code.slice(exported.start, exported.end),
        });
      cuts.push({ start, end, text: '' });
    } else if (node.type.startsWith('Export'))
      throw refuse(`it has an export of the kind ${node.type}`);
    else if (node.type === 'VariableDeclaration' && node.kind !== 'const')
      for (const { id } of node.declarations) variables.add(code.slice(id.start, id.end));
  }
  const exported = new Set(exports.map(({ local }) => local));
  let isAsync = false;
  visit(body, false, (node, isInFunction) => {
    const { start, end } = node;
    if (node.type === 'TaggedTemplateExpression' && notAscii.test(code.slice(start, end)))
      throw refuse(`it has a tagged template with characters outside of ASCII`);
    if (node.type === 'MetaProperty' && code.slice(start, end) === 'import.meta')
      cuts.push({ start, end, text: importMeta });
    if (node.type === 'ImportExpression') {
      if ('options' in node && node.options !== null) throw refuse('it has an import with options');
      cuts.push({ start, end: start + 'import'.length, text: importModule });
    }
    if (
      !isInFunction &&
      (node.type === 'AwaitExpression' || ('await' in node && node.await === true))
    )
      isAsync = true;
    const changed =
      'left' in node && node.type === 'AssignmentExpression'
        ? node.left
        : 'argument' in node && node.type === 'UpdateExpression'
          ? node.argument
          : undefined;
    if (!isNode(changed) || changed.type !== 'Identifier') return;
    const name = code.slice(changed.start, changed.end);
    // Importers of a script get the value that a variable has when the script ends.
    if (variables.has(name) && exported.has(name)) throw refuse(`it exports and changes ${name}`);
  });
  return { imports, locals, exports, cuts, isAsync };
}

/**
 * Loads a module of Node without `import`. For an import, Node reads all properties of the module, and
 * some properties load further modules: those of `node:util` take 8 ms.
 */
function loadBuiltin({ source, specifiers }: ImportDeclaration, code: string): string {
  const load = `process.getBuiltinModule(${code.slice(source.start, source.end)})`;
  const lines: string[] = [];
  const names: string[] = [];
  for (const one of specifiers)
    if (one.type === 'ImportSpecifier')
      names.push(`${code.slice(one.imported.start, one.imported.end)}: ${one.local.name}`);
    else lines.push(`const ${one.local.name} = ${load};`);
  if (names.length > 0) lines.push(`const { ${names.join(', ')} } = ${load};`);
  return lines.join('\n');
}

/** Calls a function for each node of a syntax tree. */
function visit(
  value: unknown,
  isInFunction: boolean,
  use: (node: SyntaxNode, isInFunction: boolean) => void,
): void {
  if (Array.isArray(value)) for (const one of value) visit(one, isInFunction, use);
  if (!isNode(value)) return;
  use(value, isInFunction);
  const isFunction = /Function/.test(value.type);
  for (const part of Object.values(value)) visit(part, isInFunction || isFunction, use);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

const notAscii = /[^\0-\x7f]/;
/** A backslash that is not itself escaped, before a character outside of ASCII. */
const escapedCharacter = /(?<!\\)(?:\\\\)*\\[^\0-\x7f]/;

/**
 * Escapes all other characters. With one of them, V8 keeps two bytes for each character of the script.
 */
function inAscii(code: string): string {
  const match = escapedCharacter.exec(code);
  if (match !== null) throw new Error(`Cannot escape the character after a backslash: ${match[0]}`);
  return code.replace(
    new RegExp(notAscii, 'g'),
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
