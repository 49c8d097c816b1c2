import type { FormField, FormOption } from '@millrace/core';
import { useId } from 'react';
import { useLabels } from '../../labels/use-labels.ts';
import { VisibleText } from '../content/visible-text.tsx';
import type { DraftValue } from './question-draft.ts';

interface QuestionFieldProps {
  readonly field: FormField;
  readonly value: DraftValue;
  readonly problem: string | undefined;
  readonly isDisabled: boolean;
  readonly onChange: (value: DraftValue) => void;
}

/** A field of a form, with its label, its description and its problem. */
export function QuestionField(props: QuestionFieldProps) {
  const { field, problem } = props;
  const [inputId, aboutId, problemId] = [useId(), useId(), useId()];
  const describedBy = [
    ...(field.description === undefined ? [] : [aboutId]),
    ...(problem === undefined ? [] : [problemId]),
  ];
  const common = {
    ...(describedBy.length > 0 && { 'aria-describedby': describedBy.join(' ') }),
    ...(problem !== undefined && { 'aria-invalid': true }),
    ...(field.isRequired && { 'aria-required': true }),
  } as const;
  const notes = (
    <>
      {field.description !== undefined && (
        <p className="question-about" id={aboutId}>
          <VisibleText text={field.description} escapes="directions" />
        </p>
      )}
      {problem !== undefined && (
        <p className="question-problem" id={problemId} role="alert">
          {problem}
        </p>
      )}
    </>
  );
  if (field.kind === 'choice' || field.kind === 'choices')
    return (
      <fieldset
        className="question-field"
        // ARIA allows `aria-required` on a group of radio buttons, but not on a group of checkboxes.
        {...(field.kind === 'choice'
          ? { role: 'radiogroup', ...common }
          : { 'aria-describedby': common['aria-describedby'] })}
      >
        <legend>
          <FieldTitle field={field} />
        </legend>
        {notes}
        <Options {...props} field={field} />
      </fieldset>
    );
  if (field.kind === 'boolean')
    return (
      <div className="question-field">
        <label className="question-option">
          <input
            type="checkbox"
            data-field
            checked={props.value === true}
            disabled={props.isDisabled}
            onChange={(event) => props.onChange(event.target.checked)}
            {...withoutRequired(common)}
          />
          <FieldTitle field={field} />
        </label>
        {notes}
      </div>
    );
  return (
    <div className="question-field">
      <label htmlFor={inputId}>
        <FieldTitle field={field} />
      </label>
      {notes}
      <TextInput {...props} field={field} id={inputId} common={common} />
    </div>
  );
}

/** Removes `aria-required`. It is not allowed on a checkbox, because a checkbox always has a value. */
function withoutRequired(common: Readonly<Record<string, unknown>>) {
  const { 'aria-required': _, ...rest } = common;
  return rest;
}

function FieldTitle({ field }: { readonly field: FormField }) {
  const t = useLabels();
  return (
    <span className="question-title">
      <VisibleText text={field.title} />
      {!field.isRequired && field.kind !== 'boolean' && (
        <span className="question-optional"> {t.optional}</span>
      )}
    </span>
  );
}

const inputTypes = { email: 'email', uri: 'url', date: 'date', 'date-time': 'text' } as const;
/** Texts that may be longer than this get a field with several lines. */
const longText = 200;

interface TextInputProps extends QuestionFieldProps {
  readonly field: Extract<FormField, { readonly kind: 'text' | 'number' }>;
  readonly id: string;
  readonly common: Readonly<Record<string, unknown>>;
}

function TextInput({ field, value, isDisabled, onChange, id, common }: TextInputProps) {
  const text = typeof value === 'string' ? value : '';
  const shared = {
    ...{ id, value: text, disabled: isDisabled, 'data-field': true, ...common },
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onChange(event.target.value),
  };
  if (field.kind === 'number')
    return <input inputMode={field.isInteger ? 'numeric' : 'decimal'} {...shared} />;
  const { format, maxLength } = field;
  if (format !== undefined) return <input type={inputTypes[format]} {...shared} />;
  if (maxLength > longText) return <textarea rows={2} maxLength={maxLength} {...shared} />;
  return <input maxLength={maxLength} {...shared} />;
}

interface OptionsProps extends QuestionFieldProps {
  readonly field: Extract<FormField, { readonly kind: 'choice' | 'choices' }>;
}

function Options({ field, value, isDisabled, onChange }: OptionsProps) {
  const name = useId();
  const isMany = field.kind === 'choices';
  const chosen: readonly unknown[] = Array.isArray(value) ? value : [value];
  const toggle = (option: FormOption, isChecked: boolean) => {
    if (!isMany) return onChange(option.value);
    // The answer has the order of the options.
    onChange(
      field.options
        .map((one) => one.value)
        .filter((one) => (one === option.value ? isChecked : chosen.includes(one))),
    );
  };
  return (
    <div className="question-options">
      {field.options.map((option, at) => (
        <label key={option.value} className="question-option">
          <input
            type={isMany ? 'checkbox' : 'radio'}
            name={name}
            {...(at === 0 && { 'data-field': true })}
            checked={chosen.includes(option.value)}
            disabled={isDisabled}
            onChange={(event) => toggle(option, event.target.checked)}
          />
          <span>
            <VisibleText text={option.label} />
            {option.description !== undefined && (
              <span className="question-about">
                <VisibleText text={option.description} escapes="directions" />
              </span>
            )}
          </span>
        </label>
      ))}
    </div>
  );
}
