import { duration } from '@millrace/react/controls';
import { useListedTask } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { taskTitle } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import {
  type ComparedTurn,
  type DifferenceSide,
  type SplitText,
  sideText,
  splitTexts,
  type TaskDiff,
  type TaskDifference,
  type Totals,
} from './task-diff.ts';

/** Shows the first divergence of two tasks with its cause, the differences after it, and all turns. */
export function DiffView({ diff }: { readonly diff: TaskDiff }) {
  const t = pageLabels();
  const { a, b, divergence, differences, differenceCount, redactedTurns } = diff;
  const later = differences.slice(1);
  return (
    <>
      <p className="diff-names">
        <TaskName name="A" id={a.session} />
        <TaskName name="B" id={b.session} />
      </p>
      <section className="diff-first" aria-labelledby="diff-first">
        <h2 id="diff-first">{t.firstDivergence}</h2>
        {divergence === undefined ? (
          <p>{t.noDivergence}</p>
        ) : (
          <Difference difference={divergence} a={a.session} b={b.session} />
        )}
        {redactedTurns.length > 0 && <p>{t.redactedTurns(redactedTurns.join(', '))}</p>}
      </section>
      {later.length > 0 && (
        <section aria-labelledby="diff-later">
          <h2 id="diff-later">{t.laterDifferences(differenceCount - 1)}</h2>
          <ol className="diff-later">
            {later.map((one) => (
              <li key={`${one.turn} ${one.field} ${one.a?.offset} ${one.b?.offset}`}>
                <details>
                  <summary>
                    <Headline difference={one} />
                  </summary>
                  <Sides difference={one} a={a.session} b={b.session} />
                </details>
              </li>
            ))}
          </ol>
        </section>
      )}
      <div>
        <h2>{t.turnsSideBySide}</h2>
        <TurnTable diff={diff} />
      </div>
    </>
  );
}

/** The letter of a task, and a link to its chat. */
function TaskName({ name, id }: { readonly name: string; readonly id: string }) {
  const t = pageLabels();
  const listed = useListedTask(id);
  return (
    <span>
      <b>{name}</b>{' '}
      <Link to={{ page: 'task', id }}>
        {listed === undefined ? t.sessionWithId(id.slice(0, 8)) : taskTitle(listed)}
      </Link>
    </span>
  );
}

interface DifferenceProps {
  readonly difference: TaskDifference;
  /** The ids of the two tasks. */
  readonly a: string;
  readonly b: string;
}

function Difference({ difference, a, b }: DifferenceProps) {
  return (
    <>
      <p className="diff-headline">
        <Headline difference={difference} />
      </p>
      <Sides {...{ difference, a, b }} />
    </>
  );
}

function Headline({ difference }: { readonly difference: TaskDifference }) {
  const t = pageLabels();
  const { cause, turn, call, field } = difference;
  return (
    <>
      <span className="diff-cause" data-cause={cause}>
        {t.diffCause(cause)}
      </span>{' '}
      <span>
        {t.turnNumber(turn)}
        {call !== undefined && call.name !== '' && (
          <>
            {' · '}
            <code>{call.name}</code>
          </>
        )}
        {field !== 'presence' && (
          <>
            {' · '}
            <code>{field}</code>
          </>
        )}
      </span>
    </>
  );
}

function Sides({ difference, a, b }: DifferenceProps) {
  const t = pageLabels();
  const texts = splitTexts(sideText(difference.a), sideText(difference.b));
  return (
    <>
      <div className="diff-sides">
        <Side name="A" task={a} side={difference.a} text={texts.a} mark="del" />
        <Side name="B" task={b} side={difference.b} text={texts.b} mark="ins" />
      </div>
      {difference.changes !== undefined && difference.changes.length > 0 && (
        <div className="diff-scroll">
          <table className="diff-changes">
            <thead>
              <tr>
                <th scope="col">{t.diffField}</th>
                <th scope="col">A</th>
                <th scope="col">B</th>
              </tr>
            </thead>
            <tbody>
              {difference.changes.map(({ path, ...change }) => (
                <tr key={path}>
                  <th scope="row">
                    <code>{path || '/'}</code>
                  </th>
                  <td>{jsonText(change.a)}</td>
                  <td>{jsonText(change.b)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function jsonText(value: unknown): string {
  return value === undefined ? '–' : JSON.stringify(value);
}

interface SideProps {
  readonly name: string;
  readonly task: string;
  readonly side: DifferenceSide | undefined;
  readonly text: SplitText;
  readonly mark: 'ins' | 'del';
}

/** One of the two tasks: a link to the record, and the text with the part that differs. */
function Side({ name, task, side, text, mark: Mark }: SideProps) {
  const t = pageLabels();
  const hasText = text.before + text.changed + text.after !== '';
  return (
    <article className="diff-side" aria-label={name}>
      <h3>
        <b>{name}</b>
        {side === undefined ? (
          <span>{t.noSuchRecord}</span>
        ) : (
          <Link to={{ page: 'inspect', id: task, at: side.offset }}>
            {t.recordNumber(`${side.offset}`)}
          </Link>
        )}
        {side !== undefined && <small>{side.type}</small>}
      </h3>
      {hasText && (
        <p className="diff-text" dir="auto">
          {side?.text !== undefined && side.text.start > 0 && '… '}
          {text.before}
          {text.changed !== '' && <Mark>{text.changed}</Mark>}
          {text.after}
          {side?.text !== undefined && isCut(side.text) && ' …'}
        </p>
      )}
    </article>
  );
}

function isCut({ text, start, length }: NonNullable<DifferenceSide['text']>): boolean {
  return start + text.length < length;
}

/** The turns of both tasks with their time, tokens and costs. */
function TurnTable({ diff }: { readonly diff: TaskDiff }) {
  const t = pageLabels();
  const first = diff.divergence?.turn;
  const rows: readonly Row[] = [
    ...diff.turns.map((one): Row => ({ name: `${one.turn}`, ...one })),
    { name: t.all, a: diff.a, b: diff.b, isSame: diff.divergence === undefined },
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the table
    <section className="diff-scroll" tabIndex={0} aria-label={t.turnsSideBySide}>
      <table className="diff-turns">
        <thead>
          <tr>
            <th scope="col">{t.turn}</th>
            <th scope="col">
              <span className="unseen">{t.diffStatus}</span>
            </th>
            <th scope="col">{t.time}</th>
            <th scope="col">{t.inputTokens}</th>
            <th scope="col">{t.outputTokens}</th>
            <th scope="col">{t.cost}</th>
            <th scope="col">{t.model}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.name}
              data-first={row.turn !== undefined && row.turn === first ? '' : undefined}
            >
              <th scope="row">{row.name}</th>
              <td>{row.isSame ? t.same : t.differs}</td>
              <Pair row={row} value={({ durationMs }) => duration(durationMs)} />
              <Pair row={row} value={({ usage }) => usage.input.toLocaleString(t.locale)} />
              <Pair row={row} value={({ usage }) => usage.output.toLocaleString(t.locale)} />
              <Pair row={row} value={costOf} />
              <Pair row={row} value={({ model }) => model ?? ''} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type RowSide = Totals & { readonly model?: string };

interface Row {
  readonly name: string;
  readonly turn?: ComparedTurn['turn'];
  readonly isSame: boolean;
  readonly a?: RowSide;
  readonly b?: RowSide;
}

/** A cell with the values of both tasks. Equal values are shown once. */
function Pair({ row, value }: { readonly row: Row; readonly value: (of: RowSide) => string }) {
  const [a, b] = [row.a && value(row.a), row.b && value(row.b)];
  if (a === b) return <td>{a}</td>;
  return (
    <td>
      <span>
        <b>A</b> {a ?? '–'}
      </span>
      <span>
        <b>B</b> {b ?? '–'}
      </span>
    </td>
  );
}

function costOf({ usage }: RowSide): string {
  return (usage.costs ?? [])
    .map(({ amount, currency }) => `${Number(amount).toPrecision(2)} ${currency}`)
    .join(', ');
}
