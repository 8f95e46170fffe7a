package ipc

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// field is one key of a request or of a file. The tags of its struct say all about it:
//
//	key:"filePath,path"   the key that Encode writes, then other spellings that Decode reads
//	form:"scalar"         a number is read, too; "batch": the text "batch" stands for true
//	most:"path"           the limit of a text, of limits; without the tag: maxField
//	of:"edit! ask"        the types that take the key, with "!" if they need it; without the tag: all
type field struct {
	key    string
	index  int // in the struct
	form   string
	most   int    // bytes
	of     []Type // nil: all
	needed []Type
}

// form is all keys of a struct.
type form struct {
	fields   []field           // in the order in which Encode writes them
	spelling map[string]*field // by every spelling
}

var (
	requestForm = formOf(reflect.TypeFor[Request]())
	fileForm    = formOf(reflect.TypeFor[FileRef]())
	types       = typesOf(requestForm)
)

func formOf(t reflect.Type) form {
	f := form{make([]field, t.NumField()), map[string]*field{}}
	for i := range f.fields {
		tag := t.Field(i).Tag
		spellings := strings.Split(tag.Get("key"), ",")
		f.fields[i] = field{key: spellings[0], index: i, form: tag.Get("form"), most: limits[tag.Get("most")]}
		for name := range strings.FieldsSeq(tag.Get("of")) {
			name, needed := strings.CutSuffix(name, "!")
			f.fields[i].of = append(f.fields[i].of, Type(name))
			if needed {
				f.fields[i].needed = append(f.fields[i].needed, Type(name))
			}
		}
		for _, s := range spellings {
			f.spelling[s] = &f.fields[i]
		}
	}
	return f
}

// typesOf returns all types of requests: those that have keys of their own, and the two
// that have none.
func typesOf(f form) map[Type]bool {
	all := map[Type]bool{TypeListTasks: true, TypeRefreshGroups: true}
	for _, f := range f.fields {
		for _, t := range f.of {
			all[t] = true
		}
	}
	return all
}

// Types returns all types that Decode returns, sorted.
func Types() []Type { return slices.Sorted(maps.Keys(types)) }

// takes reports whether requests of a type may have the key.
func (f *field) takes(t Type) bool { return f.of == nil || slices.Contains(f.of, t) }
