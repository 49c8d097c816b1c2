import { useListedTask } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { taskTitle } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import {
  type DifferenceSide,
  type Divergence,
  type SplitText,
  sideText,
  splitTexts,
  type TaskDifference,
} from './task-diff.ts';

interface FirstDifferenceProps extends Divergence {
  /** The turns with redacted content. Default: none. */
  readonly redactedTurns?: readonly number[];
}

/** Names two tasks, and shows the first difference with its cause. */
export function FirstDifference({ a, b, divergence, redactedTurns = [] }: FirstDifferenceProps) {
  const t = pageLabels();
  return (
    <>
      <p className="diff-names">
        <TaskName name="A" id={a} />
        <TaskName name="B" id={b} />
      </p>
      <section className="diff-first" aria-labelledby="diff-first">
        <h2 id="diff-first">{t.firstDivergence}</h2>
        {divergence === undefined ? (
          <p>{t.noDivergence}</p>
        ) : (
          <>
            <p className="diff-headline">
              <Headline difference={divergence} />
            </p>
            <Sides {...{ difference: divergence, a, b }} />
          </>
        )}
        {redactedTurns.length > 0 && <p>{t.redactedTurns(redactedTurns.join(', '))}</p>}
      </section>
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

/** The cause of a difference, its turn, call and field. */
export function Headline({ difference }: { readonly difference: TaskDifference }) {
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

/** Both sides of a difference. */
export function Sides({ difference, a, b }: DifferenceProps) {
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
