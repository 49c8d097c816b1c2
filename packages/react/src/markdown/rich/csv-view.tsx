import { useShownRows } from '../../design/shown-rows.tsx';
import { maxCsvCells } from '../tree/block-limit.ts';

/** Maximum number of rows that are shown before a button shows more. A wide table shows fewer rows. */
const maxRows = 100;

interface CsvViewProps {
  readonly rows: readonly (readonly string[])[];
}

/** Shows separated values as a table. The first row contains the names of the columns. */
export function CsvView({ rows }: CsvViewProps) {
  const [head = [], ...body] = rows;
  const pageSize = Math.min(maxRows, Math.floor(maxCsvCells / Math.max(1, head.length)));
  const { count, more } = useShownRows(body.length, pageSize);
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
  const isNumber = Tag === 'td' && /^[-+]?[\d.,]+\s*%?$/.test(text.trim());
  return (
    <Tag key={column} data-align={isNumber ? 'right' : undefined}>
      {text}
    </Tag>
  );
}

/** Maximum length of a text that is shown as a table. Longer text stays text. */
const maxLength = 500_000;
const maxColumns = 64;

/**
 * Parses separated values. A quoted value can contain separators, line breaks and doubled quotes.
 * Returns undefined if the text is not a table. A table has at least two rows and two columns, and
 * all rows have the same number of values.
 */
export function readCsv(text: string, separator: ',' | '\t'): CsvViewProps['rows'] | undefined {
  if (text.length > maxLength) return undefined;
  const rows: string[][] = [[]];
  // Matches a quoted or unquoted value, and then the separator or the end of the row.
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
