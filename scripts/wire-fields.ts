/**
 * Generates the tables of request fields that the scripted server checks. They come from the types
 * of the providers' own SDKs. Run `npm run wire-fields` after an SDK is updated.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  API,
  type Checker,
  isIntersectionType,
  isStringLiteralType,
  isTypeReference,
  isUnionType,
  SymbolFlags,
  type Type,
  TypeFlags,
} from 'typescript/unstable/sync';

const root = join(import.meta.dirname, '..');
const bodiesFile = join(root, 'packages/providers/src/testing/sdk/sdk-bodies.ts');
/** The folder of the generated files. */
export const tableFolder: string = join(
  root,
  'packages/providers/src/scripted-server/rules/fields',
);

/** A generated file with the table of one wire. */
export interface WireTable {
  /** The name of the file in `tableFolder`. */
  readonly file: string;
  /** The name of the exported type in `sdk-bodies.ts`. */
  readonly body: string;
  /** The name of the exported table. */
  readonly name: string;
  readonly sdk: string;
}

/** The generated files. */
export const wireTables: readonly WireTable[] = [
  {
    file: 'anthropic.ts',
    body: 'AnyMessagesBody',
    name: 'anthropicFields',
    sdk: '@anthropic-ai/sdk',
  },
  { file: 'openai-chat.ts', body: 'AnyChatBody', name: 'chatFields', sdk: 'openai' },
  { file: 'openai-responses.ts', body: 'AnyResponsesBody', name: 'responsesFields', sdk: 'openai' },
  { file: 'gemini.ts', body: 'GeminiRequest', name: 'geminiFields', sdk: '@google/genai' },
];

/** Returns the shapes of each table by name. It reads them from the types of the installed SDKs. */
export function readWireFields(): ReadonlyMap<WireTable, ReadonlyMap<string, string>> {
  const config = join(root, 'tsconfig.wire-fields.json');
  const files = { files: [bodiesFile], include: [], references: [] };
  const settings = JSON.stringify({ extends: './tsconfig.test.json', ...files });
  const api = new API({
    cwd: root,
    fs: {
      readFile: (path) => (path === config ? settings : undefined),
      fileExists: (path) => (path === config ? true : undefined),
    },
  });
  try {
    const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects();
    const source = project?.program.getSourceFile(bodiesFile);
    const module = source && project?.checker.getSymbolAtLocation(source);
    if (project === undefined || module === undefined) throw new Error(`Cannot read ${bodiesFile}`);
    const read = wireTables.map((table) => {
      const symbol = project.checker.getMemberInModuleExports(module, table.body);
      if (symbol === undefined) throw new Error(`${bodiesFile} does not export ${table.body}`);
      const shapes = new ShapeReader(project.checker);
      shapes.read(project.checker.getDeclaredTypeOfSymbol(symbol));
      return [table, shapes.lines] as const;
    });
    return new Map(read);
  } finally {
    api.close();
  }
}

/** Returns the first line of a table. It contains the version of the SDK. */
export function tableHeading({ sdk }: WireTable): string {
  const manifest = readFileSync(join(root, 'node_modules', sdk, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { readonly version: string };
  return `/** The request fields of ${sdk} ${version}. Written by scripts/wire-fields.ts. */`;
}

/** Reads a type and all nested types. Each object type and each named union becomes a line. */
class ShapeReader {
  readonly lines = new Map<string, string>();
  readonly #checker: Checker;
  readonly #names = new Map<number, string>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  read(body: Type): void {
    this.#shape(body, 'Body');
  }

  #shape(type: Type, wanted: string): string {
    const known = this.#names.get(type.id);
    if (known !== undefined) return known;
    let name = wanted;
    for (let number = 2; this.lines.has(name); number += 1) name = `${wanted}${number}`;
    this.#names.set(type.id, name);
    this.lines.set(name, '');
    const isOpen = this.#checker.getIndexInfosOfType(type).length > 0;
    const fields = this.#checker.getPropertiesOfType(type).flatMap((property) => {
      const kinds = this.#kinds(this.#checker.getTypeOfSymbol(property), property.name);
      const mark = (property.flags & SymbolFlags.Optional) === 0 ? '' : '?';
      return kinds.length === 0 ? [] : `${property.name}${mark}:${kinds.join('|')}`;
    });
    this.lines.set(name, [...fields.sort(), ...(isOpen ? ['*'] : [])].join(' '));
    return name;
  }

  /** Returns the alternatives of a type without duplicates. */
  #kinds(type: Type | undefined, field: string): readonly string[] {
    if (type === undefined) return [];
    const all = [...new Set(this.#alternatives(type, field))];
    if (all.includes('any')) return ['any'];
    return all.filter((kind) => !(kind.startsWith('"') && all.includes('str'))).sort();
  }

  #alternatives(type: Type, field: string): readonly string[] {
    const { flags } = type;
    if (flags & TypeFlags.AnyOrUnknown) return ['any'];
    if (flags & (TypeFlags.Undefined | TypeFlags.Never)) return [];
    if (flags & TypeFlags.Null) return ['null'];
    if (isStringLiteralType(type)) return [JSON.stringify(type.value)];
    if (isUnionType(type)) return this.#union(type, type.getTypes(), field);
    if (flags & TypeFlags.BooleanLike) return ['bool'];
    if (flags & TypeFlags.NumberLike) return ['num'];
    if (flags & TypeFlags.StringLike) return ['str'];
    if (isIntersectionType(type) && type.getTypes().some((one) => one.flags & TypeFlags.String)) {
      return ['str'];
    }
    if (this.#checker.isArrayLikeType(type) && isTypeReference(type)) {
      const [entry] = this.#checker.getTypeArguments(type);
      return this.#kinds(entry, field).map((kind) => `${kind}[]`);
    }
    const isRecord = this.#checker.getPropertiesOfType(type).length === 0;
    if (isRecord) return ['any'];
    return [this.#shape(type, nameOf(type) ?? field)];
  }

  /**
   * Returns the alternatives of a union. A named union of objects gets its own line, because
   * several fields use it.
   */
  #union(union: Type, types: readonly Type[], field: string): readonly string[] {
    const kinds = () => types.flatMap((type) => this.#alternatives(type, field));
    const name = union.getAliasSymbol()?.name;
    const objects = types.filter((type) => type.flags & TypeFlags.Object);
    if (name === undefined || objects.length < 3) return kinds();
    const known = this.#names.get(union.id);
    if (known !== undefined) return [known];
    this.#names.set(union.id, name);
    this.lines.set(name, '');
    this.lines.set(name, `= ${[...new Set(kinds())].sort().join('|')}`);
    return [name];
  }
}

function nameOf(type: Type): string | undefined {
  const name = type.getAliasSymbol()?.name ?? type.getSymbol()?.name;
  return name === undefined || name.startsWith('__') ? undefined : name;
}

if (import.meta.main) {
  const written = [...readWireFields()].map(([table, lines]) => {
    const path = join(tableFolder, table.file);
    const entries = [...lines].map(([shape, fields]) => `  ${shape}: '${fields}',`);
    const start = `export const ${table.name}: FieldTable = {`;
    const head = ["import type { FieldTable } from './field-faults.ts';", '', tableHeading(table)];
    writeFileSync(path, [...head, start, ...entries, '};', ''].join('\n'));
    return path;
  });
  const biome = join(root, 'node_modules/.bin/biome');
  execFileSync(biome, ['format', '--write', ...written], { cwd: root, stdio: 'inherit' });
}
