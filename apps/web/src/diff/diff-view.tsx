import { Button, duration } from '@millrace/react/controls';
import { useState } from 'react';
import { pageLabels } from '../languages/page-labels.ts';
import { FirstDifference, Headline, Sides } from './first-difference.tsx';
import type { ComparedTurn, TaskDiff, TaskDifference, Totals } from './task-diff.ts';

/** Shows the first divergence of two tasks with its cause, the differences after it, and all turns. */
export function DiffView({ diff }: { readonly diff: TaskDiff }) {
  const t = pageLabels();
  const { a, b, divergence, differences, differenceCount, redactedTurns } = diff;
  const later = differences.slice(1);
  const tasks = { a: a.session, b: b.session };
  return (
    <>
      <FirstDifference {...tasks} {...(divergence && { divergence })} {...{ redactedTurns }} />
      {later.length > 0 && (
        <section aria-labelledby="diff-later">
          <h2 id="diff-later">{t.laterDifferences(differenceCount - 1)}</h2>
          <ol className="diff-later">
            {later.map((one) => (
              <LaterDifference
                key={`${one.turn} ${one.field} ${one.a?.offset} ${one.b?.offset}`}
                difference={one}
                {...tasks}
              />
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

interface LaterDifferenceProps {
  readonly difference: TaskDifference;
  /** The ids of the two tasks. */
  readonly a: string;
  readonly b: string;
}

/** A difference whose texts are compared when the user opens it. */
function LaterDifference({ difference, a, b }: LaterDifferenceProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <Headline difference={difference} />
        </summary>
        {isOpen && <Sides {...{ difference, a, b }} />}
      </details>
    </li>
  );
}

/** The number of turns before the first difference that the table shows at first, and of all shown turns. */
const turnsBefore = 3;
const turnsAtFirst = 60;
/** The number of turns that a press of a button adds. */
const turnsMore = 300;

/** The turns of both tasks with their time, tokens and costs. */
function TurnTable({ diff }: { readonly diff: TaskDiff }) {
  const t = pageLabels();
  const first = diff.divergence?.turn;
  const all = diff.turns;
  const start = Math.max(0, all.findIndex(({ turn }) => turn === first) - turnsBefore);
  const [earlier, setEarlier] = useState(0);
  const [later, setLater] = useState(0);
  const from = Math.max(0, start - earlier);
  const to = Math.min(all.length, start + turnsAtFirst + later);
  const rows: readonly Row[] = [
    ...all.slice(from, to).map((one): Row => ({ name: `${one.turn}`, ...one })),
    { name: t.all, a: diff.a, b: diff.b, isSame: diff.divergence === undefined },
  ];
  const more = (count: number, label: (count: number) => string, show: () => void) =>
    count > 0 && (
      <Button size="small" look="quiet" onClick={show}>
        {label(Math.min(count, turnsMore))}
      </Button>
    );
  return (
    <>
      {more(from, t.earlierTurns, () => setEarlier(earlier + turnsMore))}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the table */}
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
      {more(all.length - to, t.laterTurns, () => setLater(later + turnsMore))}
    </>
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
