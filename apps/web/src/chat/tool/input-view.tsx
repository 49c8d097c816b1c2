import type { JsonValue } from '@millrace/core';
import { inputDiff } from '../content/diff.ts';
import { DiffView } from '../content/diff-view.tsx';
import { LongText } from '../content/long-text.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import './input-view.css';

export interface InputViewProps {
  readonly name: string;
  readonly input: JsonValue | undefined;
  /** The arguments as they were streamed. Shown if the input is not an object. */
  readonly text: string;
  /** The input is still streaming. */
  readonly isOpen?: boolean;
}

/** Shows all fields of a tool input. The change of a file is shown as a diff. */
export function InputView({ name, input, text, isOpen = false }: InputViewProps) {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject) return <InputText input={input} text={text} />;
  const diff = inputDiff(name, input);
  const fields = Object.entries(input).filter(([key]) => key !== diff?.field);
  return (
    <>
      {fields.length > 0 && (
        <dl className="input-fields">
          {fields.map(([key, value]) => (
            <div key={key}>
              <dt>
                <VisibleText text={key} />
              </dt>
              <dd>
                <LongText text={valueText(value)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {diff !== undefined && diff.diff !== '' && <DiffView diff={diff.diff} isFolded />}
      {diff !== undefined && diff.diff === '' && !isOpen && (
        <p className="input-note">{emptyText[diff.field]}</p>
      )}
      {Object.keys(input).length === 0 && !isOpen && <p className="input-note">No input.</p>}
    </>
  );
}

const emptyText = {
  content: 'The content is empty. The file will be empty.',
  edits: 'There are no edits.',
} as const;

function InputText({ input, text }: Pick<InputViewProps, 'input' | 'text'>) {
  const shownText = text === '' && input !== undefined ? JSON.stringify(input, null, 1) : text;
  if (shownText === '') return null;
  return (
    <div className="input-text">
      <LongText text={shownText} />
    </div>
  );
}

/** An empty string is shown as `""`, so that it differs from a missing value. */
function valueText(value: JsonValue): string {
  if (value === '') return '""';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}
