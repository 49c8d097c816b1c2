import { useShownRows } from '../../design/shown-rows.tsx';

/** The number of rows that are shown before a button shows more. */
const pageSize = 100;

interface CsvViewProps {
  readonly rows: readonly (readonly string[])[];
}

/** Shows values with a separator as a table. The first row has the names of the columns. */
export function CsvView({ rows }: CsvViewProps) {
  const [head = [], ...body] = rows;
  const { count, more } = useShownRows(body.length, pageSize, 'rows');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: users scroll the table with the keyboard
    <div className="markdown-table" tabIndex={0}>
      <table dir="auto">
        <thead>
          <tr>{head.map((text, column) => cellOf('th', text, column))}</tr>
        </thead>
        <tbody>
          {body.slice(0, count).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row never changes its position
            <tr key={index}>{head.map((_, column) => cellOf('td', row[column] ?? '', column))}</tr>
          ))}
        </tbody>
      </table>
      {more}
    </div>
  );
}

function cellOf(Tag: 'th' | 'td', text: string, column: number) {
  const isNumber = Tag === 'td' && /^\s*[-+]?[\d.,]+\s*%?\s*$/.test(text);
  return (
    <Tag key={column} data-align={isNumber ? 'right' : undefined}>
      {text}
    </Tag>
  );
}

/** Maximum size of a table. A larger one is shown as text. */
const maxLength = 500_000;
const maxColumns = 64;

/**
 * Reads values with a separator. A value in quotes can contain separators, line breaks and doubled
 * quotes. Returns undefined if the text is not a table: if it has only one row or column, or if a row
 * has another number of values than the first one.
 */
export function readCsv(text: string, separator: ',' | '\t'): CsvViewProps['rows'] | undefined {
  if (text.length > maxLength) return undefined;
  const rows: string[][] = [[]];
  // Either a value in quotes or one without, and then the separator or the end of the row.
  const value = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"\\n${separator}]*))(${separator}|\\r?\\n|$)`,
    'y',
  );
  for (;;) {
    const match = value.exec(text);
    if (match === null) return undefined;
    const [all, quoted, plain = '', end] = match;
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain.replace(/\r$/, ''));
    const isOver = value.lastIndex >= text.length && end !== separator;
    if (isOver || (all === '' && end === '')) break;
    if (end !== separator) rows.push([]);
  }
  const columns = rows[0]?.length ?? 0;
  const isTable = rows.length > 1 && columns > 1 && columns <= maxColumns;
  return isTable && rows.every(({ length }) => length === columns) ? rows : undefined;
}
