package antiphon

// JSON Schemas of struct types, and arguments that must fit them. Knows nothing of tools.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// shape is what the arguments of a function look like.
type shape struct {
	text     json.RawMessage
	required []string
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

// shapeOf is the shape of a struct.
func shapeOf[T any]() (shape, error) {
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Struct || kind == timeType {
		return shape{}, fmt.Errorf("%v is no struct: give its arguments as the fields of one", kind)
	}
	found, err := schemaOf(kind, kind.String(), nil)
	if err != nil {
		return shape{}, err
	}
	text, err := json.Marshal(found)
	required, _ := found["required"].([]string)
	return shape{text, required}, err
}

// read reads arguments, all of them and no others.
func (s shape) read(said json.RawMessage, into any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(said, &fields); err != nil {
		return err
	}
	for _, name := range s.required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%q is missing", name)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(said))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("there is more than one JSON value")
	}
	return nil
}

func schemaOf(kind reflect.Type, where string, within []reflect.Type) (map[string]any, error) {
	switch kind {
	case rawType:
		return map[string]any{}, nil
	case timeType:
		return map[string]any{"type": "string", "format": "date-time"}, nil
	}
	switch kind.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Interface:
		if kind.NumMethod() == 0 {
			return map[string]any{}, nil
		}
	case reflect.Pointer:
		return schemaOf(kind.Elem(), where, within)
	case reflect.Slice:
		if kind.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}, nil
		}
		return itemsOf(kind, where, within)
	case reflect.Array:
		return itemsOf(kind, where, within)
	case reflect.Map:
		if kind.Key().Kind() == reflect.String {
			values, err := schemaOf(kind.Elem(), where, within)
			return map[string]any{"type": "object", "additionalProperties": values}, err
		}
	case reflect.Struct:
		return structOf(kind, where, within)
	}
	return nil, fmt.Errorf("%s: %v has no JSON Schema; use strings, numbers, booleans, slices, maps and structs, or make a Tool with a schema", where, kind)
}

func itemsOf(kind reflect.Type, where string, within []reflect.Type) (map[string]any, error) {
	items, err := schemaOf(kind.Elem(), where, within)
	return map[string]any{"type": "array", "items": items}, err
}

func structOf(kind reflect.Type, where string, within []reflect.Type) (map[string]any, error) {
	if slices.Contains(within, kind) {
		return nil, fmt.Errorf("%s: %v contains itself; make a Tool with a schema", where, kind)
	}
	properties, required := map[string]any{}, []string{}
	if err := addFields(kind, where, append(slices.Clone(within), kind), properties, &required); err != nil {
		return nil, err
	}
	made := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	return made, nil
}

func addFields(kind reflect.Type, where string, within []reflect.Type, properties map[string]any, required *[]string) error {
	for i := range kind.NumField() {
		field := kind.Field(i)
		tag := field.Tag.Get("json")
		if tag == "-" || (!field.IsExported() && !field.Anonymous) {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			if err := addFields(field.Type, where, within, properties, required); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			name = field.Name
		}
		found, err := schemaOf(field.Type, where+"."+field.Name, within)
		if err != nil {
			return err
		}
		marks := strings.Split(rest, ",")
		if slices.Contains(marks, "string") {
			found = map[string]any{"type": "string"}
		}
		if said := field.Tag.Get("description"); said != "" {
			found["description"] = said
		}
		if said := field.Tag.Get("enum"); said != "" {
			found["enum"] = strings.Split(said, ",")
		}
		properties[name] = found
		optional := slices.Contains(marks, "omitempty") || slices.Contains(marks, "omitzero") || field.Type.Kind() == reflect.Pointer
		if !optional {
			*required = append(*required, name)
		}
	}
	return nil
}
