import { readStored, sharedStorage, writeStored } from '@millrace/react/storage';
import { useState } from 'react';

/** The settings of the appearance and their values. The first value is the default. */
const settings = {
  theme: ['system', 'light', 'dark'],
  density: ['comfortable', 'compact'],
} as const;

/** A setting of the appearance. The browser stores it for all tabs. */
export type Setting = keyof typeof settings;
/** A value of a setting. */
type SettingValue<S extends Setting> = (typeof settings)[S][number];

function storedValue<S extends Setting>(setting: S): SettingValue<S> {
  const values: readonly SettingValue<S>[] = settings[setting];
  const stored = readStored(sharedStorage, setting);
  return values.find((value) => value === stored) ?? defaultOf(setting);
}

function defaultOf<S extends Setting>(setting: S): SettingValue<S> {
  return settings[setting][0];
}

/**
 * Applies a setting to the root element. The style sheets read `data-theme` and `data-density` of
 * the root element.
 */
function apply<S extends Setting>(setting: S, value: SettingValue<S>): void {
  const root = document.documentElement;
  if (value === defaultOf(setting)) root.removeAttribute(`data-${setting}`);
  else root.setAttribute(`data-${setting}`, value);
}

/** Applies the stored settings. Call it before the first render, so that the page does not flash. */
export function applyAppearance(): void {
  apply('theme', storedValue('theme'));
  apply('density', storedValue('density'));
}

/** The value of a setting, a function that switches to the next value, and one that sets a value. */
export type UsedSetting<S extends Setting> = readonly [
  SettingValue<S>,
  () => void,
  (value: SettingValue<S>) => void,
];

/** Returns the value of a setting, and the functions that change it. */
export function useSetting<S extends Setting>(setting: S): UsedSetting<S> {
  const [value, setValue] = useState(() => storedValue(setting));
  const choose = (chosen: SettingValue<S>) => {
    const isDefault = chosen === defaultOf(setting);
    writeStored(sharedStorage, setting, isDefault ? undefined : chosen);
    apply(setting, chosen);
    setValue(chosen);
  };
  const next = () => {
    const values: readonly SettingValue<S>[] = settings[setting];
    choose(values[(values.indexOf(value) + 1) % values.length] ?? defaultOf(setting));
  };
  return [value, next, choose];
}
