import { Dialog } from '@millrace/react/controls';
import { useId } from 'react';
import {
  chooseLanguage,
  chosenLanguage,
  type Language,
  languages,
} from '../languages/load-language.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { useSetting } from './appearance.ts';
import './forms.css';

/** The settings of the page. The browser stores them for all tabs. */
export function SettingsDialog({ onClose }: { readonly onClose: () => void }) {
  const t = pageLabels();
  const [theme, , setTheme] = useSetting('theme');
  const [density, , setDensity] = useSetting('density');
  return (
    <Dialog title={t.settings} onClose={onClose}>
      <div className="form">
        <Choice
          label={t.language}
          value={chosenLanguage() ?? ''}
          choices={[
            ['', t.languageOfBrowser],
            ...Object.entries(languages).map(([tag, [name]]) => [tag as Language, name] as const),
          ]}
          onChoice={(tag) => chooseLanguage(tag === '' ? undefined : tag)}
        />
        <Choice
          label={t.colors}
          value={theme}
          choices={[
            ['system', t.colorsSystem],
            ['light', t.light],
            ['dark', t.dark],
          ]}
          onChoice={setTheme}
        />
        <Choice
          label={t.density}
          value={density}
          choices={[
            ['comfortable', t.comfortable],
            ['compact', t.compact],
          ]}
          onChoice={setDensity}
        />
      </div>
    </Dialog>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [T, string])[];
  readonly onChoice: (value: T) => void;
}

function Choice<T extends string>({ label, value, choices, onChoice }: ChoiceProps<T>) {
  const id = useId();
  return (
    <label htmlFor={id}>
      {label}
      <select
        id={id}
        value={value}
        onChange={({ target }) => {
          const chosen = choices.find(([one]) => one === target.value);
          if (chosen !== undefined) onChoice(chosen[0]);
        }}
      >
        {choices.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
