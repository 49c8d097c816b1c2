import type { JsonValue } from '@millrace/core';
import { inputDiff } from './diff.ts';
import { DiffView } from './diff-view.tsx';
import './input-view.css';

export interface InputViewProps {
  readonly name: string;
  readonly input: JsonValue | undefined;
  /** As it was written, for what is no object. */
  readonly text: string;
}

/** What a tool is called with, field by field. A change of a file is shown as one. */
export function InputView({ name, input, text }: InputViewProps) {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject) return text === '' ? null : <pre className="input-text">{clipped(text)}</pre>;
  const diff = inputDiff(name, input);
  const hidden = diff === undefined ? [] : ['content', 'edits'];
  const fields = Object.entries(input).filter(([key]) => !hidden.includes(key));
  return (
    <>
      {fields.length > 0 && (
        <dl className="input-fields">
          {fields.map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{clipped(typeof value === 'string' ? value : JSON.stringify(value, null, 1))}</dd>
            </div>
          ))}
        </dl>
      )}
      {diff !== undefined && diff !== '' && <DiffView diff={diff} />}
    </>
  );
}

const maxShown = 10_000;

function clipped(text: string): string {
  if (text.length <= maxShown) return text;
  return `${text.slice(0, maxShown)}\n… ${text.length - maxShown} more characters`;
}
