import { type FindDisguises, isJsonObject, type JsonValue, parseJson } from '@millrace/core';
import { useLabels } from '../../labels/use-labels.ts';
import { inputDiff } from '../content/diff.ts';
import { DiffView } from '../content/diff-view.tsx';
import { LongText } from '../content/long-text.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import './input-view.css';

export interface InputViewProps {
  readonly name: string;
  readonly input: JsonValue | undefined;
  /**
   * The arguments as the model streamed them. The view shows them if the input is not an object.
   */
  readonly text: string;
  /** True while the input is streaming. */
  readonly isOpen?: boolean;
  /**
   * Finds the characters to show as codes. If it is defined, the view shows the exact input in full. The caller must
   * limit the length.
   */
  readonly find?: FindDisguises | undefined;
}

/** Shows all fields of a tool input. A change of a file is shown as a diff. */
export function InputView(props: InputViewProps) {
  const t = useLabels();
  const { name, input, text, isOpen = false, find } = props;
  const isWhole = find !== undefined;
  if (!isJsonObject(input)) return <InputText {...{ input, text, find }} />;
  const diff = inputDiff(name, input, t, isWhole);
  const fields = Object.entries(input).filter(([key]) => key !== diff?.field);
  return (
    <>
      {fields.length > 0 && (
        <dl className="input-fields">
          {fields.map(([key, value]) => (
            <div key={key}>
              <dt>
                <VisibleText text={key} escapes={find} />
              </dt>
              <dd>
                <LongText text={valueText(value)} find={find} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {diff !== undefined && diff.diff !== '' && (
        <DiffView diff={diff.diff} hasFiles={false} {...{ isFolded: !isWhole, isWhole }} />
      )}
      {diff !== undefined && diff.diff === '' && !isOpen && (
        <p className="input-note">{diff.field === 'content' ? t.emptyContent : t.noEdits}</p>
      )}
      {Object.keys(input).length === 0 && !isOpen && <p className="input-note">{t.noInput}</p>}
    </>
  );
}

function InputText(props: Pick<InputViewProps, 'input' | 'text' | 'find'>) {
  const { input, text, find } = props;
  const isParsed = (find !== undefined || text === '') && input !== undefined;
  const shownText = isParsed ? JSON.stringify(input, null, 1) : text;
  if (shownText === '') return null;
  return (
    <div className="input-text">
      <LongText text={shownText} find={find} />
    </div>
  );
}

/**
 * Returns a value as text. A string is usually shown without quotes. It has quotes if it is empty
 * or looks like a different JSON value: the string `1` is shown as `"1"`.
 */
function valueText(value: JsonValue): string {
  const isPlain = typeof value === 'string' && value !== '' && !isShownJson(value);
  return isPlain ? value : JSON.stringify(value, null, 1);
}

/** Returns true if a text looks like the JSON of a value that is not a string. */
function isShownJson(text: string): boolean {
  const parsed = parseJson(text);
  return parsed.ok && JSON.stringify(parsed.value, null, 1) === text;
}
