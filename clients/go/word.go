package antiphon

// Numbers of enums as words. Knows nothing of what they are about.

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// word is a value as its word, such as "stop". One that a newer server has and this package does not know is "unknown_"
// with its number.
func word(value protoreflect.Enum) string {
	known := value.Descriptor().Values().ByNumber(value.Number())
	if known == nil {
		return fmt.Sprintf("unknown_%d", value.Number())
	}
	return plain(value.Descriptor(), known)
}

// number is the value of a word; an error names those that there are. The empty word is the zero value.
func number[T interface {
	~int32
	protoreflect.Enum
}](field, said string) (T, error) {
	var zero T
	if said == "" {
		return zero, nil
	}
	values := zero.Descriptor().Values()
	var there []string
	for i := range values.Len() {
		one := plain(zero.Descriptor(), values.Get(i))
		if one == said {
			return T(values.Get(i).Number()), nil
		}
		if values.Get(i).Number() != 0 {
			there = append(there, one)
		}
	}
	if digits, ok := strings.CutPrefix(said, "unknown_"); ok {
		if found, err := strconv.ParseInt(digits, 10, 32); err == nil {
			return T(found), nil
		}
	}
	return zero, invalid("%s: %q is none of %s", field, said, strings.Join(there, ", "))
}

func plain(enum protoreflect.EnumDescriptor, value protoreflect.EnumValueDescriptor) string {
	// Each enum has its zero as PREFIX_UNSPECIFIED.
	prefix := strings.TrimSuffix(string(enum.Values().ByNumber(0).Name()), "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
}
