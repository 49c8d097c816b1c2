import { useMemo } from 'react';
import { clip, omittedText } from '../../chat/content/long-text.tsx';
import { VisibleText } from '../../chat/content/visible-text.tsx';
import { Button } from '../../design/button.tsx';
import { numberText, useLabels } from '../../labels/use-labels.ts';
import type { SessionModel } from '../model/session-model.ts';
import { compareStates, type PartDifference, textChange } from './compare-states.ts';
import './compare.css';

/** The two moments to compare, as offsets. Undefined if a moment is not chosen yet. */
export interface ComparedMoments {
  readonly a: number | undefined;
  readonly b: number | undefined;
}

interface CompareViewProps {
  readonly model: SessionModel;
  /** The offset of the selected moment. */
  readonly offset: number;
  readonly moments: ComparedMoments;
  readonly onMoments: (moments: ComparedMoments) => void;
  readonly onOffset: (offset: number) => void;
}

/** Shows which items and parts differ between two moments, A and B. */
export function CompareView({ model, offset, moments, onMoments, onOffset }: CompareViewProps) {
  const t = useLabels();
  return (
    <div className="compare">
      <div className="compare-moments">
        {(['a', 'b'] as const).map((name) => (
          <div key={name} className="compare-moment" data-moment={name}>
            <b>{name.toUpperCase()}</b>
            <span>
              {moments[name] === undefined ? t.notSet : t.recordNumber(`${moments[name]}`)}
            </span>
            <Button size="small" onClick={() => onMoments({ ...moments, [name]: offset })}>
              {t.setMoment(name.toUpperCase(), offset)}
            </Button>
            {moments[name] !== undefined && (
              <Button size="small" look="quiet" onClick={() => onOffset(moments[name] ?? 0)}>
                {t.goToMoment(name.toUpperCase())}
              </Button>
            )}
          </div>
        ))}
      </div>
      {moments.a === undefined || moments.b === undefined ? (
        <p className="inspector-empty">{t.compareHelp}</p>
      ) : (
        <Differences model={model} a={moments.a} b={moments.b} />
      )}
    </div>
  );
}

interface DifferencesProps {
  readonly model: SessionModel;
  readonly a: number;
  readonly b: number;
}

const maxItems = 100;

function Differences({ model, a, b }: DifferencesProps) {
  const t = useLabels();
  const last = model.records.at(-1)?.offset ?? 0;
  const isLoaded = [a, b].every((at) => at > model.after && at <= last);
  const difference = useMemo(
    () =>
      isLoaded && model.hasStates
        ? compareStates(model.checkpoints.stateAt(a), model.checkpoints.stateAt(b), t)
        : undefined,
    [model, a, b, isLoaded, t],
  );
  if (difference === undefined) return <p className="inspector-empty">{t.compareRange}</p>;
  const { items, same, usage } = difference;
  const tokens = usage.after.input + usage.after.output - usage.before.input - usage.before.output;
  return (
    <>
      <p className="compare-summary" role="status">
        {t.itemsDiffer(items.length, same)}{' '}
        {tokens !== 0 &&
          t.tokenDifference(`${tokens > 0 ? '+' : '−'}${numberText(t, Math.abs(tokens))}`)}
      </p>
      <ol className="compare-items">
        {items.slice(0, maxItems).map(({ id, kind, turn, change, parts }) => (
          <li key={id} data-change={change}>
            <p>
              <b>{kind}</b> {turn > 0 && `${t.turnNumber(turn)} `}
              <span className="tag" data-mark={change}>
                {change}
              </span>
            </p>
            {parts.map((part) => (
              <PartChange key={part.id} part={part} />
            ))}
          </li>
        ))}
      </ol>
      {items.length > maxItems && (
        <p className="record-note">{t.moreItemsDiffer(items.length - maxItems)}</p>
      )}
    </>
  );
}

const limits = { headLines: 6, headLength: 600, tailLines: 6, tailLength: 600 };

function PartChange({
  part: { title, before = '', after = '' },
}: {
  readonly part: PartDifference;
}) {
  const { start, removed, added, end } = textChange(before, after);
  return (
    <div className="prompt-block">
      <small>{title}</small>
      <div className="long-text">
        <Shown text={start.slice(-200)} isCut={start.length > 200} />
        {removed !== '' && (
          <del>
            <Shown text={removed} />
          </del>
        )}
        {added !== '' && (
          <ins>
            <Shown text={added} />
          </ins>
        )}
        <Shown text={end.slice(0, 200)} />
        {end.length > 200 && '…'}
      </div>
    </div>
  );
}

function Shown({ text, isCut = false }: { readonly text: string; readonly isCut?: boolean }) {
  const t = useLabels();
  const { head, tail, omitted } = clip(text, limits);
  return (
    <>
      {isCut && '…'}
      <VisibleText text={head} />
      {omitted !== undefined && ` … ${omittedText(t, omitted)} … `}
      <VisibleText text={tail} />
    </>
  );
}
