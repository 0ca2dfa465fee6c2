import { useId, useState } from "preact/hooks";
import { isHiddenValue } from "../state/input-diff.ts";
import { Segments } from "./shell.tsx";

/** A value as it is typed in; without a value while it is not valid. */
export type Edited = { readonly value: unknown } | undefined;

interface PropertySchema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly title?: string;
  readonly description?: string;
}

interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, PropertySchema>>;
  readonly required?: readonly string[];
}

const isForm = (schema: object | null | undefined): schema is ObjectSchema => {
  const { type, properties } = (schema ?? {}) as Partial<ObjectSchema>;
  return type === "object" && typeof properties === "object" && Object.keys(properties).length > 0;
};

const toJson = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 2));

const parse = (text: string): Edited | string => {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return (error as Error).message;
  }
};

/** JSON, with the place where it is wrong. */
const JsonField = ({
  label,
  text,
  rows = 10,
  onChange,
}: {
  readonly label: string;
  readonly text: string;
  readonly rows?: number;
  onChange(text: string): void;
}) => {
  const id = useId();
  const parsed = text === "" ? undefined : parse(text);
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        class="mono"
        rows={rows}
        spellcheck={false}
        aria-invalid={typeof parsed === "string"}
        aria-describedby={typeof parsed === "string" ? id : undefined}
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {typeof parsed === "string" && (
        <span class="bad small" id={id}>
          This is not JSON: {parsed}
        </span>
      )}
    </label>
  );
};

type Typed = Readonly<Record<string, string>>;

const kindOf = ({
  type,
  enum: choices,
}: PropertySchema): "choice" | "boolean" | "number" | "text" | "json" => {
  if (choices?.every((choice) => typeof choice === "string") === true) return "choice";
  if (type === "boolean") return "boolean";
  if (type === "number" || type === "integer") return "number";
  return type === "string" ? "text" : "json";
};

const toTyped = (property: PropertySchema, value: unknown): string =>
  value === undefined ? "" : kindOf(property) === "json" || typeof value !== "string" ? toJson(value) : value;

/** Undefined for a text that is not a value of this kind. */
const fromTyped = (property: PropertySchema, text: string): Edited => {
  const kind = kindOf(property);
  if (kind === "text" || kind === "choice") return { value: text };
  const parsed = parse(text);
  if (parsed === undefined || typeof parsed === "string") return undefined;
  return kind === "number" && typeof parsed.value !== "number" ? undefined : parsed;
};

const fromForm = ({ properties, required = [] }: ObjectSchema, typed: Typed, initial: unknown): Edited => {
  // What the schema does not name stays.
  const value: Record<string, unknown> =
    typeof initial === "object" && initial !== null ? { ...(initial as Record<string, unknown>) } : {};
  for (const [name, property] of Object.entries(properties)) {
    if (isHiddenValue(value[name])) continue;
    const text = typed[name] ?? "";
    if (text === "" && !(required.includes(name) && kindOf(property) === "text")) {
      if (required.includes(name)) return undefined;
      delete value[name];
      continue;
    }
    const parsed = fromTyped(property, text);
    if (parsed === undefined) return undefined;
    value[name] = parsed.value;
  }
  return { value };
};

const PropertyField = ({
  name,
  property,
  isRequired,
  text,
  onChange,
}: {
  readonly name: string;
  readonly property: PropertySchema;
  readonly isRequired: boolean;
  readonly text: string;
  onChange(text: string): void;
}) => {
  const label = `${property.title ?? name}${isRequired ? "" : " (optional)"}`;
  const kind = kindOf(property);
  if (kind === "json")
    return <JsonField label={`${label}, as JSON`} text={text} rows={3} onChange={onChange} />;
  const choices = kind === "boolean" ? ["true", "false"] : ((property.enum ?? []) as readonly string[]);
  return (
    <label class="field">
      <span>
        {label}
        {property.description !== undefined && <span class="dim"> {property.description}</span>}
      </span>
      {kind === "choice" || kind === "boolean" ? (
        <select value={text} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          autocomplete="off"
          inputMode={kind === "number" ? "decimal" : "text"}
          aria-invalid={text !== "" && fromTyped(property, text) === undefined}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </label>
  );
};

/** Asks for a value: by a form where there is a schema of an object, and as JSON otherwise or if wished. */
export const ValueEditor = ({
  label,
  schema,
  initial,
  onChange,
}: {
  readonly label: string;
  readonly schema: object | null | undefined;
  readonly initial?: unknown;
  onChange(edited: Edited): void;
}) => {
  const [isJson, setIsJson] = useState(!isForm(schema));
  const [text, setText] = useState(toJson(initial));
  const [typed, setTyped] = useState<Typed>(() =>
    isForm(schema)
      ? Object.fromEntries(
          Object.entries(schema.properties).map(([name, property]) => [
            name,
            toTyped(property, (initial as Record<string, unknown> | undefined)?.[name]),
          ]),
        )
      : {},
  );
  const change = (next: string): void => {
    setText(next);
    const parsed = next === "" ? undefined : parse(next);
    onChange(typeof parsed === "string" ? undefined : parsed);
  };
  const show = (json: boolean): void => {
    // What was typed in the form goes into the text, but not back.
    const value = isForm(schema) && json ? fromForm(schema, typed, initial) : undefined;
    if (value !== undefined) change(toJson(value.value));
    else if (isForm(schema) && !json) onChange(fromForm(schema, typed, initial));
    setIsJson(json);
  };
  return (
    <fieldset class="editor">
      <legend class="small dim">{label}</legend>
      {isForm(schema) && (
        <Segments
          label={`${label}, how to write it`}
          options={[
            ["form", "Form"],
            ["json", "JSON"],
          ]}
          value={isJson ? "json" : "form"}
          onChange={(mode) => show(mode === "json")}
        />
      )}
      {isJson || !isForm(schema) ? (
        <JsonField label="JSON" text={text} onChange={change} />
      ) : (
        Object.entries(schema.properties).map(([name, property]) =>
          isHiddenValue((initial as Record<string, unknown> | undefined)?.[name]) ? (
            <p key={name} class="small dim">
              {name}: hidden, stays as it is
            </p>
          ) : (
            <PropertyField
              key={name}
              name={name}
              property={property}
              isRequired={schema.required?.includes(name) === true}
              text={typed[name] ?? ""}
              onChange={(next) => {
                const all = { ...typed, [name]: next };
                setTyped(all);
                onChange(fromForm(schema, all, initial));
              }}
            />
          ),
        )
      )}
    </fieldset>
  );
};
