import * as controls from '@millrace/react/controls';
import * as inspector from '@millrace/react/inspector';
import type { ComponentType, ReactNode } from 'react';

export interface SampleProps {
  readonly title: string;
  readonly children: ReactNode;
}

/** A group of samples with a title. */
export function Sample({ title, children }: SampleProps) {
  return (
    <div className="sample">
      <h3>{title}</h3>
      <div className="sample-body">{children}</div>
    </div>
  );
}

const steps = [
  ['2xl', 'Display'],
  ['xl', 'Title'],
  ['lg', 'Heading'],
  ['md', 'Text of a message'],
  ['sm', 'Text of the interface'],
  ['xs', 'Label'],
] as const;

/** The named colors, in groups. A unit test checks their contrast. */
const colors = [
  ['Layers', ['ground', 'surface', 'raised', 'sunken', 'line', 'line-strong', 'line-field']],
  ['Settled', ['text', 'text-soft', 'text-faint', 'ink']],
  ['Live', ['accent', 'accent-strong', 'accent-line', 'accent-soft']],
  ['Waits', ['warn', 'warn-mark', 'warn-line', 'warn-soft']],
  ['Outcome', ['good', 'good-soft', 'bad', 'bad-line', 'bad-soft']],
  ['Series', ['series-1', 'series-2', 'series-3', 'series-4', 'series-5', 'series-6']],
] as const;

const { Logo } = controls;
const allIcons = Object.entries<unknown>({ ...controls, ...inspector }).filter(
  (entry): entry is [string, ComponentType] => entry[0].endsWith('Icon'),
);

/** Samples of the type scale, the colors and the icons. */
export function TokenSamples() {
  return (
    <>
      <Sample title="Mark and type">
        <Logo size={40} />
        {steps.map(([step, use]) => (
          <p key={step} className="sample-type" data-step={step}>
            {use} <code>{step}</code>
          </p>
        ))}
        <p className="sample-mono">Records are set in mono: append_text 0123456789</p>
      </Sample>
      <Sample title="Colors">
        {colors.map(([group, names]) => (
          <div key={group} className="sample-colors">
            <span className="sample-label">{group}</span>
            {names.map((name) => (
              <span key={name} className="sample-color" data-color={name} title={`--${name}`} />
            ))}
          </div>
        ))}
      </Sample>
      <Sample title="Icons">
        <div className="sample-row">
          {allIcons.map(([name, Icon]) => (
            <span key={name} title={name} className="sample-icon">
              <Icon />
            </span>
          ))}
        </div>
      </Sample>
    </>
  );
}
